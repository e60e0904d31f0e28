// Package ui serves the pages and the JSON API about the server's queries.
//
// It sees nothing but monitor's registry; of earlier servers what Options.Past has, of
// the server itself what cmd tells it. Pages are complete without JavaScript. With it one
// stream of events keeps them live, there are charts, and the fleet can be searched,
// sorted, filtered and grouped:
//
//	GET /                               the fleet
//	GET /queries/{id}                   one query, by id or run id
//	GET /runs, /compare                 runs of earlier servers too; two side by side
//	GET /alerts                         alerts, silences, who is told, rules
//	GET /resources, /environment        what the server uses, what it runs with
//	GET /assets/{name}                  script, style, icons
//	GET /api/v1/fleet                   every query with its health, worst first
//	GET /api/v1/queries, /queries/{id}  one query, or every one, in full
//	GET /api/v1/queries/{id}/batches    its last batches
//	GET /api/v1/queries/{id}/progress   Spark's own JSON of its last batch
//	GET /api/v1/queries/{id}/logs       what its Python functions printed
//	GET /api/v1/runs, /runs/{id}, /compare
//	GET /api/v1/series                  its past in columns
//	GET /api/v1/stream                  server-sent events of the fleet and of queries
//	GET /api/v1/resources, /environment, /alerts
//	POST /api/v1/queries/{id}/stop      stops a query
//	POST /api/v1/progress               takes the progress of Spark's queries
//	POST /api/v1/alerts/silence         keeps alerts from being told, or ends that
//	POST /api/v1/alerts/reload          reads the file of rules anew
//	GET /api/v1/csrf                    the word that a POST shows
//	GET /api/v1/openapi.json            all of this for programs
//	GET /login, POST /login, /logout    where a token is asked for: it becomes a cookie
//	GET /api/v1/build                   name and version of the server
//	GET /metrics, …                     spark.go has what tools for Spark ask for
//
// What a page shows is made twice from the same data: by the templates (*.qtpl)
// for the first paint, by the script in assets for every later one. The pairs are
// words.go, figures.go, drawings.go, parts.qtpl and words.js; summary.go,
// fleet.qtpl and fleet.js; queryparts.go, charts.go, query.qtpl and query.js.
// testdata/render.golden holds both to the same HTML.
//
// Rules:
//
//	U1  A request whose Host is neither loopback nor the address that the server
//	    was told to listen on is refused, so that no foreign page can read the
//	    API through a name that it points at this machine; so is one with the
//	    Origin of another site. At such a name a server with a token asks for it; a
//	    request that shows it needs no such check, one with the cookie that a browser
//	    got for it (login.go) has to come from a page of the address that it goes to.
//	U2  No page runs script or style that is not served from here, and none that
//	    stands in it: no style attribute, in templates as in scripts.
//	U3  GET and HEAD change nothing. A POST is admitted with the server's token, or from
//	    the user who started the server, with a word that only its own pages can read
//	    (changing.go).
//	U4  What a program says (names, errors, offsets) is text wherever it stands.
//	U5  What is not known is null in JSON and a dash on pages, never 0.
//	U6  A stream keeps nothing for its client but the number of its last event
//	    (changes.go): a slow one is told later what changed since, and nobody waits.
//
// Bounds: mostStreams streams, mostWatched queries of one.
//
// There are no goroutines besides those of net/http. changes.mu is held while the
// fleet is read, once a second for all streams together.
package ui
