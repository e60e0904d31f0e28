# Needs Go 1.26 and Python 3.11 or newer; nothing else. `make kafka` and `make browser` say what their tests need. `make slow` also needs a C compiler.
PYTHON  ?= python3
FUZZTIME ?= 60s
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

VENV    := .venv
CLIENTS := 4.0 4.1 4.2
STAMPS  := $(CLIENTS:%=.venv-%/installed)

# Where tests find Python: testkit reads these names.
export WEIR_PYTHON     := $(CURDIR)/$(VENV)/bin/python
export WEIR_PYTHON_4_0 := $(CURDIR)/.venv-4.0/bin/python
export WEIR_PYTHON_4_1 := $(CURDIR)/.venv-4.1/bin/python
export WEIR_PYTHON_4_2 := $(CURDIR)/.venv-4.2/bin/python

.DELETE_ON_ERROR:
.PHONY: build demo test check slow takeover nightly bench dist generate spark-data venv venvs kafka browser clean

demo: venv ## run the listener example on weir with the PySpark of the lock file
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" go run ./cmd/weir run examples/health_table.py

# The end-to-end programs live in test/ and the workloads in bench/; the rest runs in a minute.
UNIT = $$(go list ./... | grep -v -E '/(test|bench)(/|$$)')

# What test/ drives is a binary of its own making, of which the cache of results knows nothing.
test: venv venvs ## every test, with real PySpark clients; after make kafka also with a Kafka broker
	go test $(UNIT)
	go test -count=1 ./test/...

check: ## format, vet, staticcheck and the unit tests
	@unformatted=$$(find . -name '*.go' -not -path './.*/*' -exec gofmt -l {} +); \
	test -z "$$unformatted" || { echo "gofmt -w these files:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	go vet -tags takeover,slow ./test/takeover ./test/demo
	go tool staticcheck ./...
	go test $(UNIT)

slow: venv venvs ## race detector, whole crash matrix, takeovers by Spark, a while of every fuzz target
	WEIR_SLOW=1 CGO_ENABLED=1 go test -race -tags takeover,slow -timeout 60m ./...
	@grep -rlE '^func Fuzz[A-Za-z0-9_]*\(' --include='*_test.go' . | while read -r file; do \
		grep -oE '^func Fuzz[A-Za-z0-9_]*' "$$file" | sed 's/^func //' | while read -r target; do \
			echo "fuzz $$target in $$(dirname $$file)"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$(dirname $$file)" || exit 1; \
		done || exit 1; \
	done

takeover: venv ## one checkpoint handed between weir and Apache Spark 4.3; needs Java 17
	go test -tags takeover -count=1 -timeout 60m -v ./test/takeover

nightly: venv ## random programs on Apache Spark 4.3 and on weir; needs Java 17
	test/oracle/nightly.sh

bench: ## benchmarks: rows and bytes a second, allocations
	go test -run '^$$' -bench . -benchmem ./...

# Without the traces of gRPC nothing looks methods up by name, and the linker drops those that nobody calls.
# Arrow's compute comes with its Parquet and is hardly called: inlined, its kernels are 5 MB larger (docs/adr/003). The
# others are called once a file, a request or a pattern.
OUTLINED = github.com/apache/arrow-go/v18/arrow/compute/... github.com/apache/arrow-go/v18/arrow/scalar/... \
	github.com/apache/arrow-go/v18/parquet/internal/gen-go/... github.com/dlclark/regexp2/v2/syntax \
	github.com/twmb/avro/... google.golang.org/grpc/... net/http/...
RELEASE = -trimpath -tags grpcnotrace,tinygo $(OUTLINED:%=-gcflags '%=-l') -ldflags '-s -w -X main.version=$(VERSION)'

build: ## the release binary of this machine, ./weir
	CGO_ENABLED=0 go build $(RELEASE) -o weir ./cmd/weir

dist: ## static binaries for linux and macOS
	@for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do \
		out=dist/weir-$(VERSION)-$${target%/*}-$${target#*/}; echo "$$out"; \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} \
			go build $(RELEASE) -o "$$out" ./cmd/weir || exit 1; \
	done

generate: ## bindings of the Spark Connect interface, templates of the pages, the lists of docs/compat
	go run ./tools/sparkpb
	go tool qtc -dir=internal/ui -skipLineComments
	go test -run 'PageIsTrue$$' ./internal/function ./internal/connector/shelf ./internal/sparkconnect -rewrite

# Tables taken from a running Spark 4.3.0; needs Java 17 on the PATH.
SPARK_DATA = internal/plan/spark_errors.tsv internal/session/settings/spark_confs.tsv internal/function/spark_functions.txt \
	internal/function/hyperloglog/tables.tsv internal/function/testdata/aggregates.tsv

spark-data: $(SPARK_DATA:=.new)
	for new in $^; do mv "$$new" "$${new%.new}" || exit 1; done

internal/plan/spark_errors.tsv.new: tools/sparkdata/errors.py venv
	$(WEIR_PYTHON) $< > $@

internal/session/settings/spark_confs.tsv.new: tools/sparkdata/confs.py venv
	$(WEIR_PYTHON) $< > $@

internal/function/spark_functions.txt.new: tools/sparkdata/functions.py venv
	$(WEIR_PYTHON) $< > $@

internal/function/hyperloglog/tables.tsv.new: tools/sparkdata/hyperloglog.py venv
	$(WEIR_PYTHON) $< > $@

internal/function/testdata/aggregates.tsv.new: tools/sparkdata/aggregates.py venv
	$(WEIR_PYTHON) $< > $@

venv: $(VENV)/installed ## PySpark 4.3 and the readers that tests compare with
venvs: $(STAMPS) ## older Spark Connect clients

kafka: .kafka/installed ## the jars of a Kafka broker for test/kafka; needs Maven, running it Java 17

.kafka/installed: test/kafka/pom.xml test/kafka/jars.sha256
	rm -rf .kafka
	mvn -q -B -f $< dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/.kafka
	cd .kafka && sha256sum --quiet --strict -c ../test/kafka/jars.sha256
	touch $@

browser: test/ui/node_modules/installed ## what test/ui drives chromium with; needs node and npm, running it chromium

test/ui/node_modules/installed: test/ui/package-lock.json
	npm ci --prefix test/ui --ignore-scripts --no-audit --no-fund
	touch $@

$(VENV)/installed: test/python/requirements.lock test/python/delta.lock
	@echo "installing PySpark into $(VENV), which takes some minutes"
	$(PYTHON) -m venv --clear $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r test/python/delta.lock
	touch $@

.venv-%/installed: test/python/client-%.lock
	$(PYTHON) -m venv --clear .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	touch $@

clean: ## what builds and tests leave behind, not the Python environments
	rm -rf dist weir-data weir
