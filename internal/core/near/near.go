// Package near finds the known word that an unknown one probably stands for.
package near

import "strings"

// maxWord bounds the length of words that are compared, since comparing takes quadratic time.
const maxWord = 128

// Word returns the known word closest to word, or an empty string if none is close.
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

// Distance returns the number of letters to insert, delete, change or swap with a neighbour to
// turn a into b.
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
