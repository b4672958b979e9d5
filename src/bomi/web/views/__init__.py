"""One module for each view of the page. A view shows a session, and calls the library for what is to be done."""
