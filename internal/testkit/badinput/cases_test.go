package badinput

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// elsewhere names the tests of other packages that cover a case.
type elsewhere struct {
	no    int
	where string
	tests string
	note  string
}

// elsewheres are cases that need more than a request, a submit or a command.
func elsewheres() []elsewhere {
	return []elsewhere{
		{72, "internal/edge/egress", "TestNameThatAlternatesNeverReachesLoopback TestCheckNameLooksBehindTheName", "each connect looks again"},
		{80, "internal/testkit/badinput", "TestWhatWasRemovedIsToldWithItsDates", ""},
		{98, "internal/edge/execute", "TestBrokenAnswerChangesNoItem TestUnknownAndMissingIDsAreCounted TestStatusSaysWhatToDo TestRedirectIsNotFollowed", "each kind of answer"},
		{98, "internal/testkit/badinput", "TestItemsOfAnEndpointThatAnswersNonsenseFail", "the items in the end"},
		{99, "internal/edge/execute", "TestHandlerCannotHarmItsCaller", ""},
		{99, "internal/engine", "TestAHandlerThatBreaksFailsItsTaskAndNothingElse TestTwoAnswersForOneItemAreABugAndTheTaskIsRunAgain", ""},
		{100, "internal/cli/config", "TestMistakesAreNamedWithLineAndFix TestMistakesInSettings TestMistakesInVariablesAndFlags", "what is in the file"},
		{100, "internal/cli", "TestServerScripts", "ports, directories, formats, Redis"},
		{100, "internal/cli/serve", "TestAStoreThatDoesNotOpenIsExplained TestStartMatrix", "ports, directories, formats, Redis"},
		{101, "internal/cli", "TestScripts TestStdinThatIsATerminal TestInterruptWhileReadingAcceptsNothing TestTheReportThatCannotBeWrittenLosesNothing", ""},
	}
}

// cases is the number of cases. One more, 102, is about a dashboard, which weir does not have.
const cases = 101

func TestEveryCaseHasATest(t *testing.T) {
	covered := map[int]bool{}
	for _, r := range httpRows() {
		covered[r.no] = true
	}
	for _, s := range stories() {
		covered[s.no] = true
	}
	for _, e := range elsewheres() {
		covered[e.no] = true
		if e.tests == "" {
			t.Errorf("case %d: no test is named", e.no)
		}
		there := testsIn(t, filepath.Join("../../..", e.where))
		for name := range strings.FieldsSeq(e.tests) {
			if !slices.Contains(there, name) {
				t.Errorf("case %d: no %s in %s", e.no, name, e.where)
			}
		}
	}
	for no := 1; no <= cases; no++ {
		if !covered[no] {
			t.Errorf("case %d has no test", no)
		}
	}
}

// testsIn lists the tests of a package.
func testsIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	must(t, err)
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		must(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}
