package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/reprise-idempotency/reprise/service/sweeper"
)

func (p *program) sweepCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sweep",
		Short: "Delete expired keys once, and print what was done as JSON",
		Long: "Delete expired keys once, and print what was done as JSON. For those who set sweep_interval to 0s and sweep by\n" +
			"cron; it may run beside services that sweep. It ends with 1 when keys could not be deleted.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			c, err := p.loadWith(cmd, config.validateStore)
			if err != nil {
				return err
			}
			if err := c.exists(); err != nil {
				return err
			}
			log := p.logger(c)
			store, err := openStore(cmd.Context(), c, log)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			s := sweeper.Sweeper{Store: store, Log: log}
			r, err := s.RunOnce(cmd.Context())
			if err != nil {
				return err
			}
			if r.Failed > 0 {
				err = errors.New("sweep: some expired keys could not be deleted; the log names them")
			}
			return errors.Join(json.NewEncoder(p.stdout).Encode(swept{Due: r.Due, Deleted: r.Deleted, Failed: r.Failed, Kept: r.Kept,
				LagSeconds: r.Lag.Seconds(), TookSeconds: r.Took.Seconds()}), err)
		},
	}
}

// exists refuses to make an empty database just to sweep it: the path would be wrong.
func (c config) exists() error {
	if c.usesPostgres() {
		return nil
	}
	if _, err := os.Stat(c.sqliteFile()); err != nil {
		return fmt.Errorf("sweep: there is no database: %w", err)
	}
	return nil
}

// swept is a report as it is printed.
type swept struct {
	Due         int     `json:"due"`
	Deleted     int     `json:"deleted"`
	Failed      int     `json:"failed"`
	Kept        int     `json:"kept"`
	LagSeconds  float64 `json:"lag_seconds"`
	TookSeconds float64 `json:"took_seconds"`
}
