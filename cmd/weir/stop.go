package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-dev/weir/internal/monitor/health"
)

func stopCommand() *cobra.Command {
	var a asked
	c := &cobra.Command{
		Use:   "stop QUERY",
		Short: "Stop a query of a running server, by its name or id",
		Long: "Stop a query of a running server, by its name, its id or the id of its run. The batch at hand is\n" +
			"interrupted, as by query.stop(); started again on its checkpoint, the query runs that batch again.",
		Args: one("the query, by its name or id; weir status lists them"),
		RunE: func(c *cobra.Command, args []string) error {
			said, err := a.stop(c.Context(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), said)
			return err
		},
	}
	a.add(c)
	return c
}

// listedQuery is a query as GET /api/v1/queries lists it.
type listedQuery struct {
	ID          string       `json:"id"`
	RunID       string       `json:"runId"`
	Name        string       `json:"name"`
	Application string       `json:"application"`
	State       health.State `json:"state"`
	StartedAtMs *int64       `json:"startedAtMs"`
	EndedAtMs   *int64       `json:"endedAtMs"` // nil while it runs
}

// stop stops the query of a name or id and says what it did.
func (a *asked) stop(ctx context.Context, query string) (string, error) {
	body, err := a.ask(ctx, http.MethodGet, "/api/v1/queries", nil)
	if err != nil {
		return "", err
	}
	var all struct{ Queries []listedQuery }
	if err := json.Unmarshal(body, &all); err != nil {
		return "", fmt.Errorf("the list of queries: %w", err)
	}
	q, err := pick(all.Queries, query)
	if err != nil {
		return "", err
	}
	_, err = a.ask(ctx, http.MethodPost, "/api/v1/queries/"+url.PathEscape(q.RunID)+"/stop", []byte("{}"))
	var refused *statusError
	if errors.As(err, &refused) && refused.code == http.StatusNotFound {
		return "", fmt.Errorf("the server at %s stops no queries: it is older, or watches those of others",
			refused.address)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("stopped %s (id %s, run %s)", q.called(), q.ID, q.RunID), nil
}

func (q *listedQuery) called() string {
	if q.Name == "" {
		return "a query without a name"
	}
	return oneLine(q.Name)
}

// pick finds the query that is meant; a name may belong to several.
func pick(queries []listedQuery, want string) (*listedQuery, error) {
	var found []*listedQuery
	ended := false
	for i := range queries {
		q := &queries[i]
		if want == "" || q.Name != want && q.ID != want && q.RunID != want {
			continue
		}
		if q.EndedAtMs != nil {
			ended = true
			continue
		}
		found = append(found, q)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, severalCalled(want, found)
	case ended:
		return nil, fmt.Errorf("the query %s does not run any more", want)
	}
	return nil, fmt.Errorf("no query has the name or id %s; weir status lists them", want)
}

// severalCalled lists the queries of a name with what tells them apart.
func severalCalled(name string, queries []*listedQuery) error {
	var table strings.Builder
	rows := [][]string{{"ID", "APPLICATION", "STATE", "STARTED"}}
	for _, q := range queries {
		started := ""
		if q.StartedAtMs != nil {
			started = time.UnixMilli(*q.StartedAtMs).Format("2006-01-02 15:04:05 MST")
		}
		rows = append(rows, []string{q.ID, oneLine(q.Application), q.State.Word(), started})
	}
	if err := printTable(&table, rows, 0); err != nil {
		return err
	}
	return fmt.Errorf("%d queries are called %s; name one by its id:\n%s",
		len(queries), oneLine(name), strings.TrimRight(table.String(), "\n"))
}
