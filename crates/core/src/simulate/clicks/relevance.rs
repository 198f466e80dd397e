//! Grades of a judge who knows the concepts behind the words.

use super::concepts::ConceptId;

/// Returns the grade of a document for a query, both given by their concepts, the main one first:
///
/// | grade | name | the document's concepts |
/// |---|---|---|
/// | 4 | Perfect | hold all of the query's, and both have the same main concept |
/// | 3 | Excellent | hold all of the query's |
/// | 2 | Good | hold the query's main concept |
/// | 1 | Fair | hold another concept of the query |
/// | 0 | Bad | hold none of the query's |
pub(super) fn grade(query: &[ConceptId], document: &[ConceptId]) -> u8 {
    let held = query.iter().filter(|c| document.contains(c)).count();
    if held == query.len() {
        if document[0] == query[0] { 4 } else { 3 }
    } else if document.contains(&query[0]) {
        2
    } else if held > 0 {
        1
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::grade;

    #[test]
    fn grades_follow_the_table() {
        assert_eq!(grade(&[5, 2], &[5, 2]), 4);
        assert_eq!(grade(&[5, 2], &[5, 9, 2]), 4);
        assert_eq!(grade(&[5, 2], &[2, 5]), 3);
        assert_eq!(grade(&[5, 2], &[5]), 2);
        assert_eq!(grade(&[5, 2], &[1, 5]), 2);
        assert_eq!(grade(&[5, 2], &[2, 1]), 1);
        assert_eq!(grade(&[5, 2], &[7]), 0);
        assert_eq!(grade(&[5], &[5, 1]), 4);
    }
}
