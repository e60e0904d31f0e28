package ui

import (
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
	"sync"

	"bytes"
)

//go:embed assets/*.js assets/*.css assets/*.svg assets/vendor/*
var files embed.FS

var assetTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".LICENSE": "text/plain; charset=utf-8",
}

// asset is a file that pages load.
type asset struct {
	body, zipped []byte
	tag          string
}

// assets reads files when they are asked for first.
type assets struct {
	mu   sync.Mutex
	read map[string]*asset
}

// get is the file of a name, nil when there is none.
func (a *assets) get(name string) *asset {
	a.mu.Lock()
	defer a.mu.Unlock()
	if found := a.read[name]; found != nil {
		return found
	}
	body, err := files.ReadFile("assets/" + name)
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(body)
	made := &asset{body: body, tag: `"` + hex.EncodeToString(sum[:8]) + `"`}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(body) // neither can fail in memory
	z.Close()
	made.zipped = zipped.Bytes()
	a.read[name] = made
	return made
}

// ServeHTTP answers with the file that the path names. Browsers ask again each time,
// and are told that they have it.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	file := a.get(name)
	if file == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", assetTypes[path.Ext(name)])
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", file.tag)
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == file.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := file.body
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = file.zipped
	}
	w.Write(body)
}
