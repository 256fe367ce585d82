/** Limit of nesting of facts; deeper values are cut, so that a log call has a bounded cost. */
const depthMax = 6;

/** Limit of entries of one list or object. */
const entriesMax = 100;

/** Longest text, in characters. */
const textCharactersMax = 8_192;

/** Limit of causes in a chain. */
const causesMax = 5;

const hidden = '[redacted]';

/** Names of private values, also as part of a longer name: `x-api-key`, `newPassword`, `set-cookie`. */
const privateName =
  /authorization|cookie|passw|passphrase|token|secret|credential|api[-_]?key|master[-_]?key|private[-_]?key|signature|code[-_]?verifier/i;

/** Names that are not private although they match: counts and times about tokens. */
const harmlessName = /(?:_count|_max|_min|_bytes|_ms|_seconds|Count|Max|Min|Bytes|Ms|Seconds)$/;

/** Patterns of private texts inside a longer one. */
const privateTexts: ReadonlyArray<readonly [pattern: RegExp, replacement: string]> = [
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]+/gi, `$1 ${hidden}`],
  [/\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)*/g, hidden],
  [/\bsvc_[A-Za-z0-9_-]{16,}/g, hidden],
  [
    /([?&;](?:token|access_token|refresh_token|sig|signature|code|state|password|secret)=)[^&#\s"']+/gi,
    `$1${hidden}`,
  ],
];

/** Facts of a log line. */
export type Facts = Readonly<Record<string, unknown>>;

/**
 * A copy of facts for the log. Values under private names are replaced at every depth, and so are bearer tokens, JWTs,
 * API keys and signed addresses inside texts. Errors become plain objects with their code, stack and causes. Size and
 * depth are bounded; cycles end at the depth bound.
 */
export function redact(facts: Facts): Record<string, unknown> {
  return redactObject(facts, 0);
}

/** A text without tokens, keys and signed addresses, cut at 8,192 characters. */
export function redactText(text: string): string {
  let safe = text.length > textCharactersMax ? `${text.slice(0, textCharactersMax)}…` : text;
  for (const [pattern, replacement] of privateTexts) safe = safe.replace(pattern, replacement);
  return safe;
}

function redactObject(value: Facts, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value).slice(0, entriesMax)) {
    const isPrivate = privateName.test(name) && !harmlessName.test(name) && value[name] != null;
    copy[name] = isPrivate ? hidden : redactValue(value[name], depth + 1);
  }
  return copy;
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'function' || typeof value === 'symbol') return `[${typeof value}]`;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return redactError(value, depth, 0);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString();
  if (depth >= depthMax) return '[deeper]';
  if (Array.isArray(value)) return value.slice(0, entriesMax).map((entry) => redactValue(entry, depth + 1));
  if ('toJSON' in value && typeof value.toJSON === 'function') return redactValue(value.toJSON(), depth + 1);
  return redactObject(value as Facts, depth);
}

function redactError(error: Error, depth: number, causes: number): Record<string, unknown> {
  const { name, message, stack, cause, ...rest } = error;
  const plain: Record<string, unknown> = { type: error.name, message: redactText(error.message) };
  if (error.stack !== undefined) plain.stack = redactText(error.stack);
  if (depth < depthMax) Object.assign(plain, redactObject(rest as Facts, depth));
  if (error.cause instanceof Error && causes < causesMax) {
    plain.cause = redactError(error.cause, depth, causes + 1);
  } else if (error.cause !== undefined) {
    plain.cause = redactValue(error.cause instanceof Error ? error.cause.message : error.cause, depth + 1);
  }
  return plain;
}
