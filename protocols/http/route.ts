/** Methods a route may be registered for; HEAD follows GET and OPTIONS is answered by the server itself. */
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * How a route takes its body.
 * - `none`: a body that says something is refused with 400; an empty one, `{}`, `[]` and `null` are not.
 * - `ignored`: a body is read past, whatever it says: for probes, and for what is refused anyway.
 * - `json`: parsed before the handler runs; an empty body is 400 `INVALID_JSON`.
 * - `optional-json`: as `json`, and an empty body gives `undefined`.
 * - `bytes`: buffered before the handler runs; `request.bytes`.
 * - `stream`: the handler runs at once and pulls chunks from `request.stream()`; for uploads of any size
 *   (multipart forms too).
 */
export type BodyKind = 'none' | 'ignored' | 'json' | 'optional-json' | 'bytes' | 'stream';

/** Whether a caller must say who they are. With `none` the authenticate hook is not called. */
export type AuthNeed = 'required' | 'optional' | 'none';

/**
 * The body an error of this route is answered with: `{code, message, timestamp}`, `{error, message}` of the
 * query endpoints, or `{success: false, data: null, error}` of the routes below `/management`.
 *
 * @see docs/interface/conventions.md#errors
 */
export type ErrorShape = 'standard' | 'query' | 'management';

/** A JSON Schema object as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One query or header parameter; path parameters need no entry unless there is something to say on them. */
export interface ParameterDocs {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description?: string;
  /** Default `false`; path parameters are always required. */
  readonly isRequired?: boolean;
  /** Default `{ type: 'string' }`. */
  readonly schema?: JsonSchema;
  /** Whether the route takes it and the description leaves it out, since it is another spelling of something there. */
  readonly isUndescribed?: boolean;
  /** Whether it may be given several times, and each of them counts; default: two different values are refused. */
  readonly isRepeatable?: boolean;
  /** What it is for, where the route answers other things too: it is refused with them. Completes "is for". */
  readonly isFor?: string;
}

/** One possible answer of a route. */
export interface ResponseDocs {
  readonly description: string;
  /**
   * Schema of the answer's body. Without one an answer below 400 has no documented body, and an error has that of the
   * route's {@link ErrorShape}; 422 of a route with a JSON body is plain text.
   */
  readonly schema?: JsonSchema;
  /** Default `application/json`. */
  readonly contentType?: string;
  /** Schemas of the other content types it is answered in. */
  readonly alternatives?: Readonly<Record<string, JsonSchema>>;
}

/**
 * An address of the description that stands for those of several routes: a variable takes the place of a literal
 * segment. It is for addresses that OpenAPI cannot tell from others, because they have as many variables.
 */
export interface SharedAddress {
  /** The pattern of the route with the variable in it. */
  readonly pattern: string;
  /** The variable, and its description. */
  readonly variable: string;
  readonly description: string;
  /** What the variable stands for in the pattern of this route. */
  readonly value: string;
  /** Name and text of the operation that all the routes are. */
  readonly operationId: string;
  readonly summary: string;
}

/** An operation that a route carries out beside its own, at addresses which the description has by themselves. */
export interface FurtherOperation {
  /**
   * As the pattern of a route, but with `{name}` for what may hold slashes too. The route that the router finds for such
   * an address and the method is the one that this belongs to.
   */
  readonly pattern: string;
  readonly operationId: string;
  readonly body: BodyKind;
  readonly docs: Omit<RouteDocs, 'address' | 'further'>;
}

/** What the API description says of a route. */
export interface RouteDocs {
  readonly summary: string;
  readonly description?: string;
  /** Groups routes of one resource. */
  readonly tag: string;
  readonly parameters?: readonly ParameterDocs[];
  readonly requestSchema?: JsonSchema;
  /** Content type of a `bytes` or `stream` body; default `application/octet-stream`. */
  readonly requestContentType?: string;
  /** Media types of a JSON body where any other one is refused with 415; default: whatever is JSON. */
  readonly jsonTypes?: readonly string[];
  /** By HTTP status. What the server itself answers for every route of the kind need not be here. */
  readonly responses: Readonly<Record<number, ResponseDocs>>;
  readonly address?: SharedAddress;
  /** Such as the commands on a node. */
  readonly further?: readonly FurtherOperation[];
}

/**
 * One HTTP operation. `Principal` is whatever the server's authenticate hook makes of a request.
 */
export interface Route<Principal> {
  readonly method: HttpMethod;
  /**
   * `/api/repositories/{repo}`: literal segments, `{name}` for exactly one non-empty raw segment, and as the
   * last part optionally `{name*}`, the raw rest of the path **with its leading slash**: `''` when the path
   * ends before it, `'/'` for a bare trailing slash, else `'/a/b'` or `'/a/b/'`.
   * Literal segments win over `{name}`, and `{name}` over `{name*}`, segment by segment from the left.
   */
  readonly pattern: string;
  /** Unique name of the operation, camelCase, verb first. */
  readonly operationId: string;
  readonly body: BodyKind;
  /** Bound of the body in bytes; default is the server's `bodyBytesMax`. */
  readonly bodyBytesMax?: number;
  readonly auth: AuthNeed;
  /** Whether it changes nothing; default: whether the method is GET. */
  readonly isRead?: boolean;
  /** Default `standard`. */
  readonly errorShape?: ErrorShape;
  /** Time until the answer must have begun, milliseconds; default is the server's `requestMsMax`. */
  readonly requestMsMax?: number;
  readonly docs: RouteDocs;
  /**
   * Whether the request may go on, asked before its body is read: for what the address alone tells, such as a
   * repository that does not exist. It throws what the caller should see.
   */
  admit?(request: HttpRequest<Principal>): void | Promise<void>;
  /**
   * Answers the request. A reply that is returned and not promised is written in the same turn of the event
   * loop and costs no promise. Throw a `ServiceError` for anything the caller should see.
   */
  handler(request: HttpRequest<Principal>): HttpReply | Promise<HttpReply>;
}

/**
 * The query string, parsed on first use; `+` is a space. The first value of a name counts. What a route asks for has to
 * be in its documentation: `RestRoute` refuses the rest.
 */
export interface QueryParameters {
  /** The first value of exactly this name. */
  get(name: string): string | undefined;
  /** The first value of `name` (camelCase) or of its snake_case spelling; camelCase wins. */
  either(name: string): string | undefined;
  /** Every value of exactly this name, in order. */
  all(name: string): readonly string[];
  /** The spelling of `name` that {@link either} reads, for messages; `name` itself when neither is there. */
  spelling(name: string): string;
  /**
   * A flag under either spelling: `true`, `1` or no value at all; `false` or `0`.
   * @throws {ServiceError} `VALIDATION_FAILED` for anything else
   */
  flag(name: string): boolean | undefined;
  /** The first name that something is wanted of. */
  findName(isWanted: (name: string) => boolean): string | undefined;
  /** The first name that is there twice, in either spelling, with different values. @param isList names that may be */
  findConflict(isList: (name: string) => boolean): string | undefined;
}

/** A request as handlers see it. */
export interface HttpRequest<Principal> {
  /** The method as the client sent it: the route's, or `HEAD` on a `GET` route. */
  readonly method: string;
  readonly route: Route<Principal>;
  /** The raw path, percent-encoding untouched, without the query string. */
  readonly path: string;
  /** The raw query string without `?`; empty when there is none. */
  readonly queryString: string;
  readonly query: QueryParameters;
  /** The raw text of a `{name}` or `{name*}` of the route's pattern. A name the pattern lacks is a bug. */
  param(name: string): string;
  /**
   * The percent-decoded text of a `{name}`.
   *
   * @param options.allowSlash lets `%2F` stand for a slash inside the segment (branch and tag names)
   * @throws {ServiceError} `INVALID_PATH` for broken percent-encoding, bytes that are not UTF-8, a NUL, and
   * for what decodes to `.`, `..` or (without `allowSlash`) holds a slash
   */
  segment(name: string, options?: { readonly allowSlash?: boolean }): string;
  /** The first header of this name (write it in lower case); `undefined` when absent or empty. */
  header(name: string): string | undefined;
  /** The headers of this name (in lower case) as the one list they are; `undefined` when there is none. */
  headerList(name: string): string | undefined;
  /** The parsed body of a `json` route; `undefined` for an empty body of an `optional-json` route. */
  readonly body: unknown;
  /** The whole body of a `bytes` route. */
  readonly bytes: Uint8Array;
  /**
   * The body of a `stream` route, once. Reading is paused while chunks wait to be taken, so memory stays
   * bounded. Leaving the loop early drops the rest of the body.
   *
   * @throws {ServiceError} from the iteration: `PAYLOAD_TOO_LARGE`, `REQUEST_TIMEOUT`, `REQUEST_CANCELLED`
   */
  stream(): AsyncIterable<Uint8Array>;
  /** Who calls. A bug to ask on a route with `auth: 'none'`. */
  readonly principal: Principal;
  /** Taken from a well-formed `X-Request-Id`, else made here; answered in `X-Request-Id`. */
  readonly requestId: string;
  /** Aborts when the caller goes away, the deadline passes or the server closes. Made on first use. */
  readonly signal: AbortSignal;
  /** When the answer must have begun, on the clock's `monotonicMs`. */
  readonly deadlineMs: number;
  /** The peer's address as text; empty once the request is over. */
  readonly remoteAddress: string;
}

/** Header values of a reply by name; a list sends the header once for each value (`Set-Cookie`). */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[]>>;

/**
 * Waits for room for a chunk of about so many bytes.
 *
 * @throws {ServiceError} `REQUEST_CANCELLED` when nobody waits for the chunk any more
 */
export type MakeRoom = (bytes: number) => Promise<void>;

/**
 * An answer. Exactly one of `json`, `raw`, `stream` gives the body, or none for an empty one.
 */
export interface HttpReply {
  readonly status: number;
  readonly headers?: ReplyHeaders;
  /** Sent as `JSON.stringify` writes it. */
  readonly json?: unknown;
  /** Sent as it is; with `contentType`, default `application/json`. */
  readonly raw?: string | Uint8Array;
  /** Content type of `raw` (default `application/json`) or `stream` (default `application/octet-stream`). */
  readonly contentType?: string;
  /**
   * Sent chunk by chunk as the peer takes it. The status line leaves with the first chunk, so an error before
   * it still becomes an error answer; a later one cuts the connection. A long-lived stream that wants its
   * headers out at once begins with something harmless (an event stream: the comment `:\n\n`).
   * If the peer goes away the iterator's `return` is called and `request.signal` aborts.
   *
   * Its iterator's `next` is called with a {@link MakeRoom}: a stream that is about to make a large chunk calls and
   * awaits it first, so that it makes the chunk when there is room among the answers that wait for their readers.
   */
  readonly stream?: AsyncIterable<string | Uint8Array>;
  /** Exact length of `stream` in bytes, if known; otherwise chunked transfer encoding is used. */
  readonly contentLength?: number;
}
