// Routes live behind the hash: #/activity?status=bounced, #/message/ID. A page can be linked to and reloaded.

// Returns the route of a hash: its page, what follows the page in the path, and its query.
export function parse(hash) {
  const [path, string = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page, ...rest] = path.split("/");
  return { page, rest: rest.map(decoded).join("/"), query: Object.fromEntries(pairs(string)) };
}

// Returns the hash of a page; what is empty is left out.
export function link(page, rest = "", query = {}) {
  const given = Object.entries(query).filter(([, value]) => value);
  const string = given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  return `#/${page}${rest && `/${encodeURIComponent(rest)}`}${string && `?${string}`}`;
}

export function go(hash) {
  location.hash = hash;
}

function pairs(string) {
  return string
    .split("&")
    .filter(Boolean)
    .map((piece) => {
      const [name, value = ""] = piece.split("=", 2);
      return [decoded(name), decoded(value)];
    });
}

// Somebody may have typed the address by hand.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
