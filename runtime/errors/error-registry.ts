/** What a caller should do about an error. */
export type Advice = 'give-up' | 'retry' | 'back-off' | 'ask-new-owner';

/** The representation of one error code in every protocol. */
export interface ErrorEntry {
  /** HTTP status. */
  readonly status: number;
  /** PostgreSQL SQLSTATE, five characters. */
  readonly sqlState: string;
  /** JSON-RPC error code. */
  readonly jsonRpc: number;
  /** OAuth 2.1 error name. */
  readonly oauth: string;
  /** WebSocket close code when the error ends a connection. */
  readonly webSocketClose: number;
  /** Whether the message may be shown to the caller; a hidden one is replaced by `title`. */
  readonly isPublic: boolean;
  readonly advice: Advice;
  /** One sentence: what happened and what to do next. */
  readonly title: string;
}

type Row = readonly [status: number, sqlState: string, advice: Advice, title: string];

/**
 * All error codes of the product. REST answers the code in `code`; each protocol has one file that encodes an entry.
 * The documentation page `docs/errors.md` is generated from this table.
 *
 * @see docs/interface/conventions.md#errors
 */
const rows = {
  VALIDATION_FAILED: [400, '22023', 'give-up', 'A value is not allowed; the message names it.'],
  INVALID_JSON: [400, '22032', 'give-up', 'The body is not valid JSON; send UTF-8 JSON.'],
  INVALID_BRANCH_NAME: [400, '42602', 'give-up', 'The branch name has characters that are not allowed.'],
  INVALID_REVISION_NUMBER: [400, '22023', 'give-up', 'A revision reads <milliseconds>-<counter>.'],
  INVALID_CURSOR: [
    400,
    '24000',
    'give-up',
    'The cursor belongs to another listing; start the listing again.',
  ],
  INVALID_PATH: [400, '22023', 'give-up', 'The path cannot be read; check its percent-encoding.'],
  ENCODING_ERROR: [400, '22021', 'give-up', 'The bytes are not valid UTF-8.'],
  NOT_A_USER_NODE: [400, '22023', 'give-up', 'The node is no user.'],
  INVALID_EMAIL: [400, '22023', 'give-up', 'The email address is not valid.'],
  CANNOT_DELETE_SELF: [
    400,
    '42501',
    'give-up',
    'Nobody deletes their own account; another administrator can.',
  ],
  WEAK_PASSWORD: [400, '28P01', 'give-up', 'The password does not meet the password policy.'],
  EGRESS_REFUSED: [
    400,
    '42501',
    'give-up',
    'The server does not send requests there; the message names the reason.',
  ],
  UNAUTHORIZED: [
    401,
    '28000',
    'give-up',
    'There is no valid login; log in and send the token as a bearer token.',
  ],
  INVALID_CREDENTIALS: [401, '28P01', 'give-up', 'The email or the password is wrong.'],
  INVALID_REFRESH_TOKEN: [401, '28000', 'give-up', 'The refresh token is not valid or has expired.'],
  SESSION_NOT_FOUND: [401, '28000', 'give-up', 'The session of the refresh token is not there any more.'],
  SESSION_REVOKED: [401, '28000', 'give-up', 'The session was ended.'],
  SESSION_EXPIRED: [401, '28000', 'give-up', 'The session has ended after its time.'],
  TOKEN_FAMILY_MISMATCH: [
    401,
    '28000',
    'give-up',
    'The refresh token is not one of its session, which was ended.',
  ],
  TOKEN_REUSE_DETECTED: [
    401,
    '28000',
    'give-up',
    'The refresh token was used before, so its session was ended.',
  ],
  INVALID_SIGNATURE: [
    401,
    '28000',
    'give-up',
    'The signed link is not valid or has expired; ask for a new one.',
  ],
  FORBIDDEN: [403, '42501', 'give-up', 'The caller may not do this.'],
  PERMISSION_DENIED: [403, '42501', 'give-up', 'The caller may not do this to this node.'],
  ACCOUNT_DISABLED: [403, '28000', 'give-up', 'The account is deactivated.'],
  PASSWORD_CHANGE_REQUIRED: [403, '28000', 'give-up', 'The password has to be changed first.'],
  TENANT_MISMATCH: [403, '42501', 'give-up', 'The token belongs to another tenant.'],
  INSUFFICIENT_PERMISSIONS: [403, '42501', 'give-up', 'The account lacks the access flag for this.'],
  NOT_FOUND: [404, '02000', 'give-up', 'There is nothing at this address.'],
  NODE_NOT_FOUND: [404, '02000', 'give-up', 'No node is there.'],
  BRANCH_NOT_FOUND: [404, '3D000', 'give-up', 'The repository has no branch of this name.'],
  TAG_NOT_FOUND: [404, '3D000', 'give-up', 'The repository has no tag of this name.'],
  REPOSITORY_NOT_FOUND: [404, '3D000', 'give-up', 'The tenant has no repository of this name.'],
  TENANT_NOT_FOUND: [404, '3D000', 'give-up', 'There is no tenant of this name.'],
  WORKSPACE_NOT_FOUND: [404, '42P01', 'give-up', 'The repository has no workspace of this name.'],
  NODE_TYPE_NOT_FOUND: [404, '42704', 'give-up', 'The branch has no node type of this name.'],
  ARCHETYPE_NOT_FOUND: [404, '42704', 'give-up', 'The branch has no archetype of this name.'],
  ELEMENT_TYPE_NOT_FOUND: [404, '42704', 'give-up', 'The branch has no element type of this name.'],
  REVISION_NOT_FOUND: [404, '02000', 'give-up', 'There is no such revision.'],
  BACKUP_NOT_FOUND: [404, '02000', 'give-up', 'There is no such backup.'],
  POOL_NOT_FOUND: [404, '42704', 'give-up', 'Nobody has claimed from this pool yet.'],
  IDENTITY_NOT_FOUND: [404, '42704', 'give-up', 'There is no such identity.'],
  USER_NOT_FOUND: [404, '42704', 'give-up', 'There is no such user.'],
  PROVIDER_NOT_FOUND: [404, '42704', 'give-up', 'The tenant has no such OpenID provider.'],
  USER_NODE_NOT_FOUND: [404, '42704', 'give-up', 'The repository has no such user node.'],
  METHOD_NOT_ALLOWED: [405, '0A000', 'give-up', 'The address exists, but not for this method.'],
  READ_ONLY_REVISION: [405, '25006', 'give-up', 'An earlier revision cannot be written; write to the head.'],
  REQUEST_TIMEOUT: [408, '57014', 'retry', 'The request was not received in time.'],
  CONFLICT: [409, '40001', 'retry', 'Somebody else changed this at the same time; read it again.'],
  ALREADY_EXISTS: [409, '42710', 'give-up', 'This exists already.'],
  NODE_ALREADY_EXISTS: [409, '23505', 'give-up', 'A node is there already.'],
  BRANCH_ALREADY_EXISTS: [409, '42P04', 'give-up', 'A branch or tag of this name exists already.'],
  TAG_ALREADY_EXISTS: [409, '42710', 'give-up', 'A tag or branch of this name exists already.'],
  IDENTITY_ALREADY_LINKED: [409, '23505', 'give-up', 'The node or the identity is linked already.'],
  EMAIL_EXISTS: [409, '23505', 'give-up', 'An account with this email exists already.'],
  REPOSITORY_ALREADY_EXISTS: [409, '42P04', 'give-up', 'A repository of this name exists already.'],
  TENANT_ALREADY_EXISTS: [409, '42P04', 'give-up', 'A tenant of this name exists already.'],
  LAST_ADMINISTRATOR: [
    409,
    '55006',
    'give-up',
    'No active account with console_login would be left; give it to another account first.',
  ],
  LOCK_NOT_HELD: [
    409,
    '55P03',
    'give-up',
    'The lock is not held with this token any more; acquire it again.',
  ],
  IDEMPOTENCY_IN_PROGRESS: [409, '55P03', 'retry', 'The first request with this idempotency key still runs.'],
  TRANSACTION_ABORTED: [
    409,
    '25P02',
    'give-up',
    'An earlier statement of the transaction failed; end it with ROLLBACK.',
  ],
  PRECONDITION_FAILED: [
    412,
    '55000',
    'give-up',
    'The node is not what the request expects any more; read it again.',
  ],
  IDEMPOTENCY_MISMATCH: [422, '22023', 'give-up', 'This idempotency key was used with another request.'],
  PAYLOAD_TOO_LARGE: [413, '54000', 'give-up', 'The body is larger than the server takes.'],
  COMMIT_TOO_LARGE: [413, '54000', 'give-up', 'One commit may change a bounded number of nodes.'],
  REQUEST_TOO_EXPENSIVE: [
    413,
    '54000',
    'give-up',
    'The request takes more work or memory than one request may; narrow it down or split it.',
  ],
  URI_TOO_LONG: [414, '54000', 'give-up', 'The address is longer than the server takes.'],
  UNSUPPORTED_MEDIA_TYPE: [415, '0A000', 'give-up', 'The body must be JSON.'],
  BACKUP_FOREIGN: [
    422,
    '28000',
    'give-up',
    'The backup is not signed with the key of this server; accept it explicitly.',
  ],
  BACKUP_DAMAGED: [422, 'XX001', 'give-up', 'The backup is not whole; use another one.'],
  UNPROCESSABLE_BODY: [422, '22023', 'give-up', 'A field of the body is missing or of the wrong type.'],
  ACCOUNT_LOCKED: [429, '28000', 'back-off', 'Too many failed logins; wait and try again.'],
  RATE_LIMITED: [429, '53400', 'back-off', 'Too many requests; wait and try again.'],
  REQUEST_CANCELLED: [499, '57014', 'give-up', 'The caller went away.'],
  INTERNAL_SERVER_ERROR: [500, 'XX000', 'retry', 'Something went wrong here; the log has the request id.'],
  DATA_CORRUPTED: [500, 'XX001', 'give-up', 'Stored bytes fail their checksum and are not served.'],
  COMMAND_NOT_IMPLEMENTED: [501, '0A000', 'give-up', 'There is no such command.'],
  UPSTREAM_UNREACHABLE: [502, '08001', 'back-off', 'Another server that is needed cannot be reached.'],
  UPSTREAM_INVALID: [
    502,
    '08P01',
    'give-up',
    'Another server that is needed sent a response that is not accepted.',
  ],
  EMAIL_NOT_CONFIGURED: [
    503,
    '55000',
    'back-off',
    'The server cannot send mail; an administrator has to configure it.',
  ],
  LOCKS_DISABLED: [503, '55000', 'back-off', 'Locks and inventory are switched off on this server.'],
  MEMBER_VERSIONS_DIFFER: [
    503,
    '0A000',
    'back-off',
    'Members of different versions do not understand each other yet.',
  ],
  OVERLOADED: [503, '53300', 'back-off', 'The queue is full; try again shortly.'],
  SUBSCRIBER_TOO_SLOW: [
    503,
    '53400',
    'retry',
    'The subscriber fell too far behind; subscribe again from its last revision.',
  ],
  SHUTTING_DOWN: [503, '57P01', 'back-off', 'This member is stopping; ask another or try again.'],
  NOT_OWNER: [503, '57P03', 'ask-new-owner', 'Another member owns this now; try again.'],
  LOG_UNAVAILABLE: [503, '57P03', 'back-off', 'The log cannot be reached; nothing was written, try again.'],
  ACTOR_STOPPED: [
    503,
    '58000',
    'back-off',
    'Writes here are stopped because the server found itself in a state that cannot be; nothing was done. An operator has to restart the member.',
  ],
  WRITES_STOPPED: [503, '58030', 'back-off', 'Writes to this branch are stopped after a storage error.'],
  OIDC_NOT_CONFIGURED: [
    503,
    '55000',
    'back-off',
    'The OpenID provider cannot be used as it is configured; the message names what is missing.',
  ],
  UPSTREAM_TIMEOUT: [504, '57014', 'back-off', 'Another server that is needed did not answer in time.'],
  DEADLINE_EXCEEDED: [504, '57014', 'retry', 'The deadline passed before an answer was ready.'],
  STORAGE_FULL: [507, '53100', 'back-off', 'The disk is full; free space, then writes go on.'],
} as const satisfies Record<string, Row>;

/** The closed set of error codes. */
export type ErrorCode = keyof typeof rows;

function jsonRpcOf(status: number): number {
  if (status === 401 || status === 403) return -32001;
  if (status === 404 || status === 501) return -32601;
  return status < 500 ? -32602 : -32603;
}

function oauthOf(status: number): string {
  if (status === 401) return 'invalid_client';
  if (status === 403) return 'access_denied';
  if (status === 503 || status === 507 || status === 429) return 'temporarily_unavailable';
  return status < 500 ? 'invalid_request' : 'server_error';
}

function webSocketCloseOf(status: number): number {
  if (status === 503) return 1013;
  if (status === 413) return 1009;
  return status < 500 ? 1008 : 1011;
}

function entryOf([status, sqlState, advice, title]: Row): ErrorEntry {
  return {
    status,
    sqlState,
    jsonRpc: jsonRpcOf(status),
    oauth: oauthOf(status),
    webSocketClose: webSocketCloseOf(status),
    isPublic: status !== 500,
    advice,
    title,
  };
}

/** The registry: every code with its representation in every protocol. */
export const errorRegistry: Readonly<Record<ErrorCode, ErrorEntry>> = Object.freeze(
  Object.fromEntries(Object.entries(rows).map(([code, row]) => [code, Object.freeze(entryOf(row))])),
) as Record<ErrorCode, ErrorEntry>;

/** Every code, in the order of the registry. */
export const errorCodes: readonly ErrorCode[] = Object.keys(rows) as ErrorCode[];

/**
 * Codes that the interface defines for parts missing from this version, each with its part. No code path sends them
 * yet, so the page of errors has no rows for them.
 */
export const laterParts: Readonly<Partial<Record<ErrorCode, string>>> = {
  INVALID_SIGNATURE: 'assets',
  SUBSCRIBER_TOO_SLOW: 'WebSocket',
};

/** Codes that this version sends, in the order of the registry. */
export const sentCodes: readonly ErrorCode[] = errorCodes.filter((code) => laterParts[code] === undefined);
