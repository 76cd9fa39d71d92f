"""What every command needs: flags, lazy commands, running a job, progress and interrupts."""
