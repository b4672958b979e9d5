"""Problems with known answers, the ways their inputs go missing, and the comparison of methods on them."""
