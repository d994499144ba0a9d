package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/reprise-idempotency/reprise/service"
)

type health struct {
	Status string `json:"status"`
}

// livez says that the process runs; it asks nobody.
func (a *API) livez(c echo.Context) error {
	return respond(c, http.StatusOK, "application/json", health{Status: "live"})
}

// readyz says whether calls can be served now.
func (a *API) readyz(c echo.Context) error {
	if a.draining.Load() {
		return &service.Error{Code: service.CodeStoreUnavailable, Detail: "the service is going down: send new calls elsewhere"}
	}
	if err := a.Service.Ready(c.Request().Context()); err != nil {
		return err
	}
	return respond(c, http.StatusOK, "application/json", health{Status: "ready"})
}

func (a *API) openAPI(c echo.Context) error {
	_ = c.Blob(http.StatusOK, "application/yaml", a.OpenAPI) // it fails when the reader has gone
	return nil
}
