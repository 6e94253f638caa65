// What an event means in plain words, and what to do. The first row that fits is taken.
// Codes: RFC 3463 and https://www.iana.org/assignments/smtp-enhanced-status-codes

const bounce = { type: "bounced" };

const ROWS = [
  [
    { ...bounce, code: /^5\.1\.(0|1|3|6)$/ },
    "The mailbox does not exist.",
    "Correct the address or take it off the list.",
  ],
  [{ ...bounce, code: /^5\.1\.(2|10)$/ }, "The domain takes no mail.", "Look for a typing mistake after the @."],
  [{ ...bounce, code: /^5\.2\.1$/ }, "The mailbox is switched off.", "Take the address off the list."],
  [
    { ...bounce, code: /^[45]\.2\.2$/ },
    "The mailbox is full.",
    "Later mail may get through; five in a row stop the address.",
  ],
  [
    { ...bounce, code: /^[45]\.(2\.3|3\.4)$/ },
    "The message is too large for this mailbox.",
    "Send it smaller, with links instead of attachments.",
  ],
  [
    { ...bounce, code: /^[45]\.4\.(1|4|6|7)$/ },
    "The recipient's server could not be reached in time.",
    "Nothing to do, unless it goes on for days.",
  ],
  [
    { ...bounce, code: /^[45]\.7\.(23|24|25|26|27|28|29|30)$/ },
    "Refused because the sender is not authenticated as the recipient's server wants it.",
    "Check SPF, DKIM, DMARC and reverse DNS of the sending domain.",
  ],
  [
    { ...bounce, code: /^[45]\.7\./ },
    "Refused by a rule of the recipient's server, often because of reputation or content.",
    "Read the reason below; check block lists and authentication.",
  ],
  [
    { ...bounce, code: /^[45]\.6\./ },
    "The recipient's server cannot take this content.",
    "Check encoding and attachments; the address is not to blame.",
  ],
  [
    { ...bounce, code: /^4\./ },
    "A temporary failure that lasted until the provider gave up.",
    "Later mail may get through.",
  ],
  [
    { ...bounce, bounceClass: "hard" },
    "The address cannot receive mail.",
    "Take it off the list; it is suppressed from now on.",
  ],
  [
    { ...bounce, bounceClass: "soft" },
    "The provider gave up for now.",
    "Later mail may get through; five in a row stop the address.",
  ],
  [bounce, "It came back, and nobody says whether the address is to blame.", "Read the reason below."],
  [
    { type: "deferred", code: /^4\.7\./ },
    "The recipient's server slows this sender down.",
    "The provider tries again; send more evenly if it happens a lot.",
  ],
  [{ type: "deferred" }, "Not taken yet; the provider tries again.", "Nothing to do, unless it goes on for days."],
  [
    { type: "dropped", reason: /suppress|bounced? address|unsubscribed|spam report|stop list|inactive/i },
    "The provider did not even try: the address is on its own stop list.",
    "Lift it there if the address is good again.",
  ],
  [{ type: "dropped" }, "The provider did not send it.", "Read the reason below."],
  [{ type: "complained" }, "The recipient called it spam.", "Never mail this address again; ask where it came from."],
  [{ type: "unsubscribed" }, "The recipient does not want this kind of mail.", "The address is suppressed in this scope."],
  [{ type: "resubscribed" }, "The recipient wants this kind of mail again.", ""],
  [
    { type: "clicked", machine: true },
    "A machine followed a link, such as a scanner.",
    "It does not say that anybody read it.",
  ],
  [
    { type: "opened", machine: true },
    "A machine loaded the images, such as a mail proxy.",
    "It does not say that anybody read it.",
  ],
  [{ type: "clicked" }, "Somebody followed a link.", ""],
  [{ type: "opened" }, "Somebody opened it.", ""],
  [{ type: "delivered" }, "The recipient's server took it.", "It may still land in the spam folder."],
  [{ type: "processed" }, "The provider has it; nothing else is known yet.", ""],
  [{}, "The provider told something that has no meaning here.", "Its own words are below."],
];

// Returns the enhanced status code in a reason, or the one that a basic reply code amounts to.
export function statusCode(reason) {
  const enhanced = /(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/.exec(reason ?? "");
  return enhanced ? enhanced[1] : "";
}

// Returns what an event means and what to do about it.
export function diagnose({ type, bounce_class: bounceClass, reason, machine }) {
  const code = statusCode(reason);
  const fits = (row) =>
    (row.type === undefined || row.type === type) &&
    (row.bounceClass === undefined || row.bounceClass === bounceClass) &&
    (row.machine === undefined || row.machine === Boolean(machine)) &&
    (row.code === undefined || row.code.test(code)) &&
    (row.reason === undefined || row.reason.test(reason ?? ""));
  const [, says, advice] = ROWS.find(([row]) => fits(row));
  return { code, says, advice };
}

//: Why an address is suppressed, in words.
export const STOPPED = {
  bounced: "hard bounce",
  complained: "complaint",
  unsubscribed: "unsubscribed",
  dropped: "provider's stop list",
  soft_bounces: "soft bounces in a row",
  manual: "suppressed manually",
};

//: What a scope says.
export function scopeWords(scope) {
  return scope === "" ? "all mail" : scope;
}

// The row of one address has no reason of its own; it follows from what has suppressed it.
export function reasonOf(stop) {
  if (stop.manual_effect === "stop") return STOPPED.manual;
  const soft = stop.soft_suppress_at && (!stop.last_suppress_at || stop.soft_suppress_at > stop.last_suppress_at);
  const type = soft ? "soft_bounces" : stop.first_suppress?.type;
  return STOPPED[type] ?? type ?? "unknown";
}
