package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const configEnv = "REPRISE_CONFIG"

// notSettings are variables of this prefix that are not ours to read: those of the tests, and those that Kubernetes gives
// every pod beside a service whose name begins with "reprise" (REPRISE_PORT=tcp://…, REPRISE_DB_SERVICE_HOST=…).
var notSettings = regexp.MustCompile(`^REPRISE_(TEST_|REQUIRE_).*=` +
	`|^REPRISE(_\w+)?_SERVICE_(HOST|PORT\w*)=` +
	`|^REPRISE(_\w+)?_PORT(_\d+_(TCP|UDP|SCTP))?=(tcp|udp|sctp)://` +
	`|^REPRISE(_\w+)?_PORT_\d+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR)=`)

// layer is one source of settings; a later layer overrules an earlier one.
type layer struct {
	values *koanf.Koanf
	name   func(setting) string // how a mistake in it is named
}

func addFlags(flags *pflag.FlagSet) {
	defaults := defaultConfig()
	for _, s := range settings {
		if s.noFlag {
			continue
		}
		usage := fmt.Sprintf("%s (%s)", s.usage, s.env())
		if d := s.get(defaults); d != "" {
			usage += fmt.Sprintf(" (default %s)", d)
		}
		flags.String(s.flag(), "", usage)
	}
}

// load reads the configuration from all its sources and names all its mistakes at once.
func (p *program) load(cmd *cobra.Command) (config, error) { return p.loadWith(cmd, config.validate) }

// loadWith is load with the checks that a command needs.
func (p *program) loadWith(cmd *cobra.Command, validate func(config) error) (config, error) {
	return p.loadOver(cmd, defaultConfig(), validate)
}

// loadOver is loadWith over other defaults, which nothing overrules in the settings that are fixed.
func (p *program) loadOver(cmd *cobra.Command, c config, validate func(config) error, fixed ...string) (config, error) {
	var errs []error
	layers, err := p.layers(cmd)
	errs = append(errs, err)
	for _, l := range layers {
		for _, key := range fixed {
			l.values.Delete(key)
		}
		errs = append(errs, l.apply(&c))
	}
	errs = append(errs, validate(c))
	if err := errors.Join(errs...); err != nil {
		return c, usageError{fmt.Errorf("the configuration has mistakes:\n  %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))}
	}
	return c, nil
}

func (p *program) layers(cmd *cobra.Command) (layers []layer, err error) {
	env := p.environment()
	var errs []error
	path, given := env[configEnv]
	if flag := cmd.Flag("config"); flag.Changed {
		path, given = flag.Value.String(), true
	}
	if given && path == "" {
		errs = append(errs, errors.New("--config or "+configEnv+": is empty; give it a file or leave it out"))
	}
	if path != "" {
		file, err := readFile(path)
		errs = append(errs, err)
		layers = append(layers, file)
	}
	vars, err := envLayer(env)
	errs = append(errs, err)
	return append(layers, vars, flagLayer(cmd.Flags())), errors.Join(errs...)
}

// environment gives the variables of Reprise.
func (p *program) environment() map[string]string {
	vars := map[string]string{}
	for _, pair := range p.env {
		if name, value, ok := strings.Cut(pair, "="); ok && strings.HasPrefix(name, "REPRISE_") {
			vars[name] = value
		}
	}
	return vars
}

func readFile(path string) (layer, error) {
	k := koanf.New(".")
	l := layer{values: k, name: func(s setting) string { return path + ": " + s.key }}
	raw, err := os.ReadFile(path)
	if err != nil {
		return l, fmt.Errorf("the configuration file: %w", err)
	}
	if err := k.Load(rawbytes.Provider(raw), yaml.Parser()); err != nil {
		return l, fmt.Errorf("%s: %w", path, err)
	}
	var errs []error
	for _, key := range k.Keys() {
		if !slices.ContainsFunc(settings, func(s setting) bool { return s.key == key }) {
			errs = append(errs, fmt.Errorf("%s: there is no setting %q; see: reprise config print", path, key))
		}
	}
	return l, errors.Join(errs...)
}

func envLayer(env map[string]string) (layer, error) {
	var errs []error
	values := map[string]any{}
	for name, value := range env {
		i := slices.IndexFunc(settings, func(s setting) bool { return s.env() == name })
		switch {
		case i >= 0:
			values[settings[i].key] = value
		case name != configEnv && !notSettings.MatchString(name+"="+value):
			errs = append(errs, fmt.Errorf("%s: there is no such setting; see: reprise config print", name))
		}
	}
	return layer{values: fromMap(values), name: func(s setting) string { return s.env() }}, errors.Join(errs...)
}

func flagLayer(flags *pflag.FlagSet) layer {
	values := map[string]any{}
	for _, s := range settings {
		if !s.noFlag && flags.Changed(s.flag()) {
			values[s.key], _ = flags.GetString(s.flag())
		}
	}
	return layer{values: fromMap(values), name: func(s setting) string { return "--" + s.flag() }}
}

func fromMap(values map[string]any) *koanf.Koanf {
	k := koanf.New(".")
	if err := k.Load(confmap.Provider(values, "."), nil); err != nil {
		panic(err) // a map in memory
	}
	return k
}

// apply overrules what the layer names. A setting that is there and empty is a mistake, not an absence: an audience
// that came out empty must not switch its check off.
func (l layer) apply(c *config) error {
	var errs []error
	for _, s := range settings {
		if !l.values.Exists(s.key) {
			continue
		}
		value := l.values.String(s.key)
		if value == "" {
			errs = append(errs, fmt.Errorf("%s: is empty; give it a value or leave it out", l.name(s)))
			continue
		}
		if err := s.set(c, value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", l.name(s), err))
		}
	}
	return errors.Join(errs...)
}
