// Package near finds the word that was probably meant by one that is not known.
package near

import "strings"

// maxWord is how long a word may be that is compared with others: it takes time.
const maxWord = 128

// Word is the known word that was probably meant, or empty when none is near.
func Word(word string, known []string) string {
	if len(word) > maxWord {
		return ""
	}
	best, least := "", max(1, len(word)/3)+1
	for _, k := range known {
		if d := Distance(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// Distance is how many letters must be put in, taken out, changed or swapped with
// their neighbour to make b of a.
func Distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		above, row, swapped := rows[(i-1)%3], rows[i%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := above[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(above[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], swapped[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
