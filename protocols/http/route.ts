/** Methods a route may be registered for. HEAD is served by the GET route; the server itself responds to OPTIONS. */
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * How a route takes its body.
 * - `none`: a body with content is refused with 400; an empty body, `{}`, `[]` and `null` are accepted.
 * - `ignored`: any body is read and discarded; for probes, and for requests that are refused anyway.
 * - `json`: parsed before the handler runs; an empty body is 400 `INVALID_JSON`.
 * - `optional-json`: as `json`, and an empty body gives `undefined`.
 * - `bytes`: buffered before the handler runs; `request.bytes`.
 * - `stream`: the handler runs at once and pulls chunks from `request.stream()`; for uploads of any size (multipart
 *   forms too).
 */
export type BodyKind = 'none' | 'ignored' | 'json' | 'optional-json' | 'bytes' | 'stream';

/** Whether a caller must authenticate. With `none` the authenticate hook is not called. */
export type AuthNeed = 'required' | 'optional' | 'none';

/**
 * The shape of the route's error bodies: `{code, message, timestamp}`, `{error, message}` of the query endpoints, or
 * `{success: false, data: null, error}` of the routes below `/management`.
 *
 * @see docs/interface/conventions.md#errors
 */
export type ErrorShape = 'standard' | 'query' | 'management';

/** A JSON Schema object in the dialect of OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One query or header parameter. Path parameters need an entry only if they need a description. */
export interface ParameterDocs {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description?: string;
  /** Default `false`; path parameters are always required. */
  readonly isRequired?: boolean;
  /** Default `{ type: 'string' }`. */
  readonly schema?: JsonSchema;
  /** Whether the description omits this parameter because it is another spelling of a described one. */
  readonly isUndescribed?: boolean;
  /** Whether the parameter may be repeated and each value counts; default: two different values are refused. */
  readonly isRepeatable?: boolean;
  /**
   * The purpose of a parameter that applies to some requests of the route only; others that carry it are refused.
   * Completes the phrase "is for".
   */
  readonly isFor?: string;
}

/** One possible response of a route. */
export interface ResponseDocs {
  readonly description: string;
  /**
   * Schema of the response body. Without one a response below 400 has no documented body, and an error has the body
   * of the route's {@link ErrorShape}; the 422 of a route with a JSON body is plain text.
   */
  readonly schema?: JsonSchema;
  /** Default `application/json`. */
  readonly contentType?: string;
  /** Schemas by content type, for further content types of the response. */
  readonly alternatives?: Readonly<Record<string, JsonSchema>>;
}

/**
 * A path of the API description that stands for several routes: a variable replaces a literal segment. It is for
 * paths that OpenAPI cannot tell apart because they have the same number of variables.
 */
export interface SharedAddress {
  /** The route's pattern with the variable in it. */
  readonly pattern: string;
  /** The variable and its description. */
  readonly variable: string;
  readonly description: string;
  /** The value of the variable in this route's pattern. */
  readonly value: string;
  /** Name and text of the operation that these routes share. */
  readonly operationId: string;
  readonly summary: string;
}

/** An additional operation of a route, which the description lists under paths of its own. */
export interface FurtherOperation {
  /**
   * Like a route pattern, but `{name}` may match slashes too. For such a path and the method, the router must find
   * the route that this operation belongs to.
   */
  readonly pattern: string;
  readonly operationId: string;
  readonly body: BodyKind;
  readonly docs: Omit<RouteDocs, 'address' | 'further'>;
}

/** A route's part of the API description. */
export interface RouteDocs {
  readonly summary: string;
  readonly description?: string;
  /** Groups routes of one resource. */
  readonly tag: string;
  readonly parameters?: readonly ParameterDocs[];
  readonly requestSchema?: JsonSchema;
  /** Content type of a `bytes` or `stream` body; default `application/octet-stream`. */
  readonly requestContentType?: string;
  /** Accepted media types of a JSON body; others are refused with 415. Default: every JSON media type. */
  readonly jsonTypes?: readonly string[];
  /** By HTTP status. Responses that the server itself sends for every route of the kind may be omitted. */
  readonly responses: Readonly<Record<number, ResponseDocs>>;
  readonly address?: SharedAddress;
  /** For example the commands on a node. */
  readonly further?: readonly FurtherOperation[];
}

/** One HTTP operation. `Principal` is the type that the server's authenticate hook returns. */
export interface Route<Principal> {
  readonly method: HttpMethod;
  /**
   * For example `/api/repositories/{repo}`: literal segments, `{name}` for exactly one non-empty raw segment, and
   * optionally `{name*}` as the last part: the raw rest of the path **with its leading slash**: `''` when the path
   * ends before it, `'/'` for a bare trailing slash, else `'/a/b'` or `'/a/b/'`. Literal segments win over `{name}`,
   * and `{name}` over `{name*}`, segment by segment from the left.
   */
  readonly pattern: string;
  /** Unique name of the operation, camelCase, verb first. */
  readonly operationId: string;
  readonly body: BodyKind;
  /** Maximum size of the body in bytes; default is the server's `bodyBytesMax`. */
  readonly bodyBytesMax?: number;
  readonly auth: AuthNeed;
  /** Whether the operation is read-only; default: whether the method is GET. */
  readonly isRead?: boolean;
  /** Default `standard`. */
  readonly errorShape?: ErrorShape;
  /** Time until the response must have begun, in milliseconds; default is the server's `requestMsMax`. */
  readonly requestMsMax?: number;
  readonly docs: RouteDocs;
  /**
   * Checks the request before its body is read, for refusals that depend on the address only, such as a repository
   * that does not exist. Throws the error the caller should see.
   */
  admit?(request: HttpRequest<Principal>): void | Promise<void>;
  /**
   * Handles the request. A reply that is returned synchronously is written in the same turn of the event loop and
   * allocates no promise. Throw a `ServiceError` for any error the caller should see.
   */
  handler(request: HttpRequest<Principal>): HttpReply | Promise<HttpReply>;
}

/**
 * The query string, parsed on first use; `+` is a space. The first value of a name counts. A parameter that a route
 * reads must be in its documentation: `RestRoute` refuses all others.
 */
export interface QueryParameters {
  /** The first value of exactly this name. */
  get(name: string): string | undefined;
  /** The first value of `name` (camelCase) or of its snake_case spelling; camelCase wins. */
  either(name: string): string | undefined;
  /** Every value of exactly this name, in order. */
  all(name: string): readonly string[];
  /** The spelling of `name` that {@link either} reads, for messages; `name` itself when neither is present. */
  spelling(name: string): string;
  /**
   * A flag under either spelling: `true`, `1` or no value at all; `false` or `0`.
   * @throws {ServiceError} `VALIDATION_FAILED` for anything else
   */
  flag(name: string): boolean | undefined;
  /** The first name for which the predicate holds. */
  findName(isWanted: (name: string) => boolean): string | undefined;
  /**
   * The first name that occurs twice, in either spelling, with different values. @param isList names that may repeat
   */
  findConflict(isList: (name: string) => boolean): string | undefined;
}

/** A request as handlers see it. */
export interface HttpRequest<Principal> {
  /** The method as the client sent it: the route's, or `HEAD` on a `GET` route. */
  readonly method: string;
  readonly route: Route<Principal>;
  /** The raw path, still percent-encoded, without the query string. */
  readonly path: string;
  /** The raw query string without `?`; empty when there is none. */
  readonly queryString: string;
  readonly query: QueryParameters;
  /** The raw text of a `{name}` or `{name*}` of the route's pattern. It is a bug to pass a name the pattern lacks. */
  param(name: string): string;
  /**
   * The percent-decoded text of a `{name}`.
   *
   * @param options.allowSlash lets `%2F` stand for a slash inside the segment (branch and tag names)
   * @throws {ServiceError} `INVALID_PATH` for broken percent-encoding, bytes that are not UTF-8, a NUL, and for a
   *   segment that decodes to `.`, `..` or (without `allowSlash`) contains a slash
   */
  segment(name: string, options?: { readonly allowSlash?: boolean }): string;
  /** The first header of this name (pass it in lower case); `undefined` when absent or empty. */
  header(name: string): string | undefined;
  /** All headers of this name (in lower case) joined to one list; `undefined` when there is none. */
  headerList(name: string): string | undefined;
  /** The parsed body of a `json` route; `undefined` for an empty body of an `optional-json` route. */
  readonly body: unknown;
  /** The whole body of a `bytes` route. */
  readonly bytes: Uint8Array;
  /**
   * The body of a `stream` route; may be called once. Reading pauses while chunks wait for the handler, so memory
   * stays bounded. Leaving the loop early drops the rest of the body.
   *
   * @throws {ServiceError} from the iteration: `PAYLOAD_TOO_LARGE`, `REQUEST_TIMEOUT`, `REQUEST_CANCELLED`
   */
  stream(): AsyncIterable<Uint8Array>;
  /** The caller. It is a bug to read it on a route with `auth: 'none'`. */
  readonly principal: Principal;
  /** Taken from a well-formed `X-Request-Id`, otherwise generated; sent back in `X-Request-Id`. */
  readonly requestId: string;
  /** Aborts when the caller disconnects, the deadline passes or the server closes. Created on first use. */
  readonly signal: AbortSignal;
  /** When the response must have begun, on the clock's `monotonicMs`. */
  readonly deadlineMs: number;
  /** The peer's address as text; empty once the request is over. */
  readonly remoteAddress: string;
}

/** Header values of a reply by name; a list sends the header once for each value (`Set-Cookie`). */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[]>>;

/**
 * Waits for room for a chunk of approximately this many bytes.
 *
 * @throws {ServiceError} `REQUEST_CANCELLED` when the caller has gone
 */
export type MakeRoom = (bytes: number) => Promise<void>;

/** A response. At most one of `json`, `raw` and `stream` gives the body; without any of them the body is empty. */
export interface HttpReply {
  readonly status: number;
  readonly headers?: ReplyHeaders;
  /** Sent as `JSON.stringify` writes it. */
  readonly json?: unknown;
  /** Sent unchanged; with `contentType`, default `application/json`. */
  readonly raw?: string | Uint8Array;
  /** Content type of `raw` (default `application/json`) or `stream` (default `application/octet-stream`). */
  readonly contentType?: string;
  /**
   * Sent chunk by chunk as the peer reads it. The status line is sent with the first chunk, so an earlier error still
   * becomes an error response; a later one closes the connection. A long-lived stream that must send its headers at
   * once begins with a chunk without meaning (an event stream: the comment `:\n\n`). If the peer disconnects, the
   * iterator's `return` is called and `request.signal` aborts.
   *
   * Its iterator's `next` is called with a {@link MakeRoom}. A stream calls and awaits it before it makes a large
   * chunk, so that the chunk is made only when the bound on buffered responses leaves room.
   */
  readonly stream?: AsyncIterable<string | Uint8Array>;
  /**
   * Whether the request has only read, on a route that may also write: then the reply may be refused for want of room, as that of
   * a route that reads. Default: what {@link Route.isRead} says.
   */
  readonly isOfRead?: boolean;
  /** Exact length of `stream` in bytes, if known; otherwise chunked transfer encoding is used. */
  readonly contentLength?: number;
}
