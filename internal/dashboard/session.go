package dashboard

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/dashboard/format"
)

// sessionFor is how long a person stays signed in.
const sessionFor = 12 * time.Hour

// sessionCookie holds the sealed API key of a person. The key is checked again at every request, so that a
// revoked one ends the session at once.
const sessionCookie = "weir_session"

// sealedIn is the place to which sessions are sealed: what is sealed elsewhere does not open as one.
const sealedIn = "dashboard/session"

// Sealer encrypts what a browser keeps. All nodes have to open what one of them sealed.
type Sealer interface {
	Seal(where string, plain []byte) (string, error)
	Open(where, sealed string) ([]byte, error)
}

// session is what the cookie holds.
type session struct {
	Key   string    `json:"key"`
	Until time.Time `json:"until"`
}

// keyOf returns the API key of a request's session, empty if the request has no valid session.
func (d *Dashboard) keyOf(r *http.Request) string {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil || d.opts.OwnLogin {
		return ""
	}
	plain, err := d.opts.Sealer.Open(sealedIn, cookie.Value)
	if err != nil {
		return ""
	}
	var s session
	if json.Unmarshal(plain, &s) != nil || !d.now().Before(s.Until) {
		return ""
	}
	return s.Key
}

// cookie makes a cookie that scripts and other sites do not get.
func (d *Dashboard) cookie(r *http.Request, name, value string, lasts time.Duration) *http.Cookie {
	c := &http.Cookie{Name: name, Value: value, Path: d.opts.Prefix + Root, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: overTLS(r), MaxAge: int(lasts.Seconds())}
	if lasts <= 0 {
		c.MaxAge = -1
	}
	return c
}

// overTLS reports whether the browser uses TLS. Behind a proxy that ends it, the browser says so itself in the origin of a
// form; other sites can send none.
func overTLS(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" || strings.HasPrefix(r.Header.Get("Origin"), "https://")
}

// signInPage asks for an API key.
type signInPage struct{ Host, Next, Fault string }

func (d *Dashboard) showSignIn(w http.ResponseWriter, v *visit, status int, fault string) {
	next := v.FormValue("next")
	if next == "" && v.Method == http.MethodGet {
		next = d.opts.Prefix + v.URL.RequestURI()
	}
	d.render(w, v, "signin", status, content{Title: "Sign in", Page: signInPage{Host: v.Host, Next: next, Fault: fault}})
}

// signIn checks a key and keeps it in a cookie.
func (d *Dashboard) signIn(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimSpace(r.PostFormValue("key"))
	v, err := d.visitWith(r, key)
	if err != nil {
		d.showSignIn(w, v, http.StatusUnprocessableEntity, "This is not an API key. Keys begin with wk_.")
		return
	}
	if key == "" {
		d.showSignIn(w, v, http.StatusUnprocessableEntity, "Enter an API key.")
		return
	}
	if _, err := v.api.WhoAmI(r.Context()); err != nil {
		fault := "The key could not be checked: " + err.Error()
		if refused := refusal(err); refused != nil {
			fault = format.Stop(refused.Title) + " " + sentence(refused.Fix)
		}
		d.showSignIn(w, v, http.StatusUnauthorized, fault)
		return
	}
	plain, err := json.Marshal(session{Key: key, Until: d.now().Add(sessionFor)})
	if err != nil {
		panic(err) // a text and a time
	}
	sealed, err := d.opts.Sealer.Seal(sealedIn, plain)
	if err != nil {
		d.fail(w, v, err)
		return
	}
	http.SetCookie(w, d.cookie(r, sessionCookie, sealed, sessionFor))
	http.Redirect(w, r, d.next(r.PostFormValue("next")), http.StatusSeeOther)
}

// next returns where to go after signing in: a page of ours, and nothing else.
func (d *Dashboard) next(to string) string {
	home := d.opts.Prefix + Root + "/"
	u, err := url.Parse(to)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(path.Clean(u.Path)+"/", home) {
		return home
	}
	return u.RequestURI()
}

// signOut forgets the key, and ends what other tabs of the session show live and download.
func (d *Dashboard) signOut(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(sessionCookie); err == nil {
		d.hub.signOut(cookie.Value)
	}
	http.SetCookie(w, d.cookie(r, sessionCookie, "", 0))
	http.Redirect(w, r, d.opts.Prefix+Root+"/", http.StatusSeeOther)
}

// setTheme switches between light and dark.
func (d *Dashboard) setTheme(w http.ResponseWriter, r *http.Request) {
	if theme := r.PostFormValue("theme"); theme == "light" || theme == "dark" {
		http.SetCookie(w, d.cookie(r, "weir_theme", theme, 365*24*time.Hour))
	}
	http.Redirect(w, r, d.next(r.PostFormValue("next")), http.StatusSeeOther)
}
