# Each target is a line or two; the README and CI call these and nothing else.
PY := .venv/bin/python
LOCAL := $(PY) -m deploy.local
READY := .venv/.ready
COMPILE := .venv/bin/pip-compile --quiet --allow-unsafe --extra local --extra dev \
	--generate-hashes --strip-extras --no-emit-options --no-emit-trusted-host

.DEFAULT_GOAL := help
.PHONY: help up down clean status logs test lint images bench soak lock

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

up: $(READY) ## Start everything on this machine; run again to start what is missing
	@$(LOCAL) up

down: $(READY) ## Stop everything; nothing is lost
	@$(LOCAL) down

clean: $(READY) ## Stop everything and delete all data (asks first; YES=1 does not ask)
	@$(LOCAL) clean $(if $(filter 1 yes,$(YES)),--yes)

status: $(READY) ## Show what runs
	@$(LOCAL) status

logs: $(READY) ## Follow what every process writes
	@$(LOCAL) logs

test: $(READY) ## Run the tests (as root: real engine, PostgreSQL, Valkey and OpenBao)
	@$(LOCAL) images
	$(PY) -m $(if $(ARGS),pytest $(ARGS),tests)

lint: $(READY) ## Check style, layers and types
	.venv/bin/ruff check . && .venv/bin/ruff format --check .
	.venv/bin/lint-imports && .venv/bin/mypy

images: $(READY) ## Build the images that are missing
	@$(LOCAL) images

bench: $(READY) ## Measure against the engine alone; results in bench/results
	$(PY) -m bench $(ARGS)

soak: $(READY) ## Kill parts of a running installation for a long time and look for loss
	$(PY) -m bench soak $(ARGS)

lock: $(READY) ## Write requirements.lock anew from pyproject.toml
	CUSTOM_COMPILE_COMMAND="make lock" $(COMPILE) --output-file requirements.lock \
		pyproject.toml deploy/local/oldest-python.in

$(READY): requirements.lock pyproject.toml deploy/local/venv.sh
	@sh deploy/local/venv.sh $@
