package oracle

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

// reportIDs are the reports that reports.tsv answers, by family: watermarks,
// windows, joins, duplicates, state, checkpoints whole; of the others those whose
// parts exist.
var reportIDs = map[string]string{
	"WM": "01 02 04 05 06 07 08 09 11 12 13", "WT": "01 03 04 05 07 08 09 10",
	"JN": "01 02 05 06 07 08 09 10", "DD": "01 02 03 05 06", "ST": "01 02 04 05 06 07 08",
	"CK": "01 02 03 04 06 07 08 09 10", "FS": "01 02 03 05 06 07 08", "FB": "01 02 03 04 06 07 09 10 11",
	"KF": "01 02 03 05 06 07 09 10 11 12 13", "DL": "01 02 03 04 05 07 08 09 11 12",
	"MN": "01 02 03 04 05 06 08 09 10 11 12 13 14 15", "MS": "01 02 03 04 06 07", "UI": "01 03 04 05", "SQ": "01 03 04 05 06 07", "RT": "01 02",
}

var reportOutcome = regexp.MustCompile(`^(spark|better|later: .+)$`)

// TestReportsAreAnswered holds reports.tsv complete, and its proofs real: a
// scenario of passing.txt or a test function of a package. An outcome is spark
// (what Spark does), better (what the report asks for beyond it) or later.
func TestReportsAreAnswered(t *testing.T) {
	raw, err := os.ReadFile("reports.tsv")
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for family, numbers := range reportIDs {
		for _, n := range strings.Fields(numbers) {
			wanted[family+"-"+n] = true
		}
	}
	passing := readList(t, "passing.txt")
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n")[1:] {
		cells := strings.Split(line, "\t")
		if len(cells) != 4 || cells[1] == "" || !reportOutcome.MatchString(cells[3]) {
			t.Errorf("malformed: %s", line)
			continue
		}
		id, proofs, outcome := cells[0], cells[2], cells[3]
		if !wanted[id] {
			t.Errorf("%s is no report, or there twice", id)
		}
		delete(wanted, id)
		if proofs == "-" != strings.HasPrefix(outcome, "later") {
			t.Errorf("%s is %s, proven by %s", id, outcome, proofs)
		}
		for proof := range strings.SplitSeq(proofs, "; ") {
			if words := strings.Fields(proof); proofs != "-" && !isProof(t, words, passing) {
				t.Errorf("%s: there is no %s", id, proof)
			}
		}
	}
	for id := range wanted {
		t.Errorf("%s is not answered", id)
	}
}

// isProof looks for "scenario NAME" or "test PACKAGE FUNCTION".
func isProof(t *testing.T, words, passing []string) bool {
	t.Helper()
	switch {
	case len(words) == 2 && words[0] == "scenario":
		return slices.Contains(passing, words[1])
	case len(words) != 3 || words[0] != "test":
		return false
	}
	files, err := filepath.Glob(filepath.Join(testkit.ModuleRoot(t), words[1], "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+words[2]+"(t *testing.T)") {
			return true
		}
	}
	return false
}
