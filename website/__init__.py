"""The documentation site: the pages of this repository, staged and built by Zensical.

    navigation   which pages there are, in which order, and what each is about
    markdown     the Markdown of the repository in the form that the generator reads; links led to the site
    notebooks    notebooks as pages
    sources      source files and folders as pages
    reference    the public names as pages, from their docstrings
    stage        all pages and pictures in one folder
    llms         llms.txt, and the pages as Markdown
    build        the site

``python -m website`` builds it into `site/`. Nothing here is a part of the package.
"""
