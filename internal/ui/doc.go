// Package ui serves the pages and the JSON API about the server's queries.
//
// It sees nothing but monitor's registry: what is running, its last batches,
// its errors. The first page lists the queries; it is complete without
// JavaScript, and with it the figures are refreshed once a second from the
// same JSON that anybody may read:
//
//	GET /                               the page
//	GET /api/v1/queries                 every query, flat, units last
//	GET /api/v1/queries/{id}            one query, by id or run id
//	GET /api/v1/queries/{id}/progress   Spark's own JSON of its last batch
//	GET /api/v1/build                   name and version of the server
//
// Rules:
//
//	U1  A request whose Host is neither loopback nor the address that the server
//	    was told to listen on is refused, so that no foreign page can read the
//	    API through a name that it points at this machine. A request with the
//	    server's token needs no such check.
//	U2  No page runs script or style that is not served from here.
//	U3  Nothing here changes anything: there are only GET and HEAD.
//
// There are no goroutines besides those of net/http.
package ui
