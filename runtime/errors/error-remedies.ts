import type { ErrorCode } from './error-registry.ts';

/**
 * What a caller should do about each error. The page `docs/errors.md` is generated from it; the titles of the registry
 * say what happened.
 */
export const errorRemedies: Readonly<Record<ErrorCode, string>> = {
  VALIDATION_FAILED:
    'Correct the value that the message or `field` names. `/openapi.json` has the schema of each body.',
  INVALID_JSON:
    'Send JSON where a body is expected. `details` has the line and the column where the text stops being JSON.',
  INVALID_BRANCH_NAME:
    'Use 1 to 128 letters, digits and `.`, `_`, `/`, `-`; in an address write `/` as `%2F`.',
  INVALID_REVISION_NUMBER:
    'Copy the whole revision, such as `1790000000000-3`, from `X-Svc-Revision`, a history or the list of revisions.',
  INVALID_CURSOR:
    'Begin the listing again without `cursor`. Pass a cursor only to the listing, with the parameters, that returned it.',
  INVALID_PATH:
    'Percent-encode each segment by itself and leave the `/` between segments as it is. A segment cannot be `.`, `..` or hold a `/`.',
  ENCODING_ERROR: 'Encode the body as UTF-8.',
  NOT_A_USER_NODE: 'Name a node of type `svc:User` in workspace `svc:access_control` of branch `main`.',
  INVALID_EMAIL: 'Send one address with an `@` between two parts, at most 254 characters.',
  CANNOT_DELETE_SELF: 'Ask another administrator of the tenant to delete the account, or deactivate it.',
  WEAK_PASSWORD: 'Choose a password that meets every rule the message lists.',
  EGRESS_REFUSED:
    'Use the public https address of the other server. What is private is allowed by the operator, with the setting that the message names.',
  UNAUTHORIZED:
    'Log in with `POST /api/svc/sys/{tenant}/auth` and send the token as `Authorization: Bearer …`. At the login itself: check user name, password and tenant.',
  INVALID_CREDENTIALS: 'Check the email and the password, or have the password reset.',
  INVALID_REFRESH_TOKEN: 'Log in again; send the newest refresh token, whole, before it expires.',
  SESSION_NOT_FOUND: 'Log in again, and keep the newest refresh token of that login.',
  SESSION_REVOKED:
    'Log in again. Somebody logged out, changed the password, or logged in elsewhere once too often.',
  SESSION_EXPIRED: 'Log in again, with `remember_me` for a longer session.',
  TOKEN_FAMILY_MISMATCH: 'Log in again. If you did not mix up two logins, change the password.',
  TOKEN_REUSE_DETECTED:
    'Log in again, and use each refresh token once. If only one client has the token, change the password: somebody else used it.',
  INVALID_SIGNATURE: 'Have the link signed again with `svc:sign` and use it before it expires.',
  FORBIDDEN:
    'Use an account that has the right; the message names it. Of a protected branch or tag, remove the protection first.',
  PERMISSION_DENIED:
    'Use an account that may do this to the node, or ask an administrator for the permission.',
  ACCOUNT_DISABLED: 'Ask an administrator of the tenant to activate the account.',
  PASSWORD_CHANGE_REQUIRED:
    'Change it: an administrator with the address that the message has, then log in again; an identity with `POST /auth/change-password`, then refresh the token.',
  TENANT_MISMATCH:
    'Name the tenant of the token in the address and in `X-Tenant-Id`, or log in at the tenant that you mean.',
  INSUFFICIENT_PERMISSIONS: 'Ask an administrator of the tenant to give the account the access flag.',
  NOT_FOUND:
    'Compare the address with `/openapi.json`, and the id or number at its end with the list above it.',
  NODE_NOT_FOUND:
    'Check branch, workspace and path; list the parent with a trailing `/`. A node that the account may not read looks the same.',
  BRANCH_NOT_FOUND: 'List the branches of the repository. A `/` in the name is `%2F` in an address.',
  TAG_NOT_FOUND: 'List the tags of the repository. A `/` in the name is `%2F` in an address.',
  REPOSITORY_NOT_FOUND:
    'List the repositories with `GET /api/repositories`. Only those of the tenant of the token are visible.',
  TENANT_NOT_FOUND: 'List the tenants with `GET /api/management/registry/tenants` as a system administrator.',
  WORKSPACE_NOT_FOUND: 'Make the workspace with `PUT /api/workspaces/{repo}/{name}`, or correct its name.',
  NODE_TYPE_NOT_FOUND:
    'Define the type on this branch with `POST …/nodetypes`, or merge the branch that has it, or correct its name.',
  ARCHETYPE_NOT_FOUND: 'Define the archetype on this branch with `POST …/archetypes`, or correct its name.',
  ELEMENT_TYPE_NOT_FOUND:
    'Define the element type on this branch with `POST …/elementtypes`, or correct its name.',
  REVISION_NOT_FOUND:
    'Take a revision from the list of revisions of this branch; name another branch with `?branch=`.',
  BACKUP_NOT_FOUND:
    'List the backups with `GET /api/management/backups`, and see that `SVC_BACKUP_DIR` is the folder you mean.',
  POOL_NOT_FOUND: 'Claim from the pool first: the first claim makes it. Check the branch and the name.',
  IDENTITY_NOT_FOUND: 'List the identities of the tenant, and compare the id.',
  USER_NOT_FOUND: 'Log in again; if the account is gone, ask an administrator for another one.',
  PROVIDER_NOT_FOUND:
    'Use an `auth_url` of `GET /auth/providers`; its tenant is named by `X-Tenant-Id` or `tenant`.',
  USER_NODE_NOT_FOUND:
    'Name a node of type `svc:User` below `/users` of workspace `svc:access_control` on branch `main`.',
  METHOD_NOT_ALLOWED: 'Use one of the methods in the header `Allow`.',
  READ_ONLY_REVISION:
    'Write to the head of a branch: an address with `head`, without `?revision=`, with a branch and not a tag.',
  REQUEST_TIMEOUT: 'Send the whole body faster, or in smaller requests.',
  CONFLICT:
    'Read the present state, which the message or `details` names, and send the request again if it is still wanted.',
  ALREADY_EXISTS: 'Choose another name, or remove what has this one.',
  NODE_ALREADY_EXISTS: 'Choose another name or id, or change the node that is there with `PUT`.',
  BRANCH_ALREADY_EXISTS: 'Choose another name: branches and tags share one set of names.',
  TAG_ALREADY_EXISTS: 'Choose another name: branches and tags share one set of names.',
  IDENTITY_ALREADY_LINKED:
    'Read `user_id` of the node. To give the node to another person, remove its `user_id` first; a person has one node in a repository.',
  EMAIL_EXISTS: 'Log in with the address, or register another one.',
  REPOSITORY_ALREADY_EXISTS: 'Choose another `repo_id`, or use the repository that is there.',
  TENANT_ALREADY_EXISTS: 'Choose another id for the tenant.',
  LAST_ADMINISTRATOR: 'Create another account, or give an active one `console_login`, and try again.',
  LOCK_NOT_HELD: 'Acquire the lock again, look at what changed meanwhile, and write with the new token.',
  TRANSACTION_ABORTED: 'Send `ROLLBACK`, and then the whole transaction again, without what failed.',
  PRECONDITION_FAILED:
    'Read the node again and decide once more what to write; `details` has its `version` and `etag` as they are.',
  IDEMPOTENCY_IN_PROGRESS:
    'Wait a second and repeat it with the same key: the answer is that of the first request.',
  IDEMPOTENCY_MISMATCH: 'Use a new key for each request that differs in method, address, body or condition.',
  PAYLOAD_TOO_LARGE: 'Send less in one request: several smaller bodies, or several commits.',
  COMMIT_TOO_LARGE:
    'Do it in parts: fewer operations, smaller subtrees or fewer revisions at a time. Or have the operator raise `commit_nodes_max` in `[limits]`, if the message names nodes.',
  REQUEST_TOO_EXPENSIVE:
    'Ask for less: a `limit`, fewer levels, fewer conditions, or a narrower range. The message names what was too much.',
  URI_TOO_LONG: 'Shorten the path; address a node that is nested deeply by its id with `$ref/{id}`.',
  UNSUPPORTED_MEDIA_TYPE: 'Send `Content-Type: application/json`, and no `Content-Encoding`.',
  BACKUP_FOREIGN:
    'When you trust where the backup comes from, send `accept_foreign: true`; otherwise restore another one.',
  BACKUP_DAMAGED: 'Restore another backup. The message names the file that is damaged or missing.',
  UNPROCESSABLE_BODY:
    'Add or correct the field that the text names. `/openapi.json` has the schema of each body.',
  ACCOUNT_LOCKED: 'Wait for the seconds in `Retry-After`, then log in with the right password.',
  RATE_LIMITED: 'Wait for the seconds in `Retry-After`, and send fewer requests at once.',
  REQUEST_CANCELLED:
    'Start it again if it is still wanted. Clients see it as the result of a restore, check or job that was stopped.',
  INTERNAL_SERVER_ERROR:
    'Repeat it once. When it fails again, give the operator the `X-Request-Id` of the answer: the log has the cause under it.',
  DATA_CORRUPTED:
    'Tell the operator, who runs `npm run check-data` and restores what is damaged from a backup. Other content is served.',
  COMMAND_NOT_IMPLEMENTED: 'Use a command that `/openapi.json` describes.',
  UPSTREAM_UNREACHABLE:
    'See that the other server runs, that its name resolves and that its certificate is valid. The log of Grove has the error of the system.',
  UPSTREAM_INVALID:
    'See that the address is the right one, and what the other server answers there. It has to be HTTP within the limits that the message names.',
  EMAIL_NOT_CONFIGURED:
    'Have the operator set `SVC_SMTP_URL`, or an administrator of the tenant store `email` in the configuration of logins.',
  LOCKS_DISABLED: 'Have the operator set `enabled = true` in `[locks]`, or do without locks.',
  MEMBER_VERSIONS_DIFFER:
    'Repeat it when the upgrade is over. The operator finishes the upgrade on every member, or undoes it.',
  OVERLOADED:
    'Wait for the seconds in `Retry-After`, twice as long each time, and send fewer requests at once.',
  SUBSCRIBER_TOO_SLOW:
    'Subscribe again from the revision in `details`, and read events as fast as they come.',
  SHUTTING_DOWN: 'Repeat it after the seconds in `Retry-After`; a load balancer then chooses another member.',
  NOT_OWNER: 'Repeat it at once: the next request goes to the member that owns the partition.',
  LOG_UNAVAILABLE:
    'Repeat it after the seconds in `Retry-After`. When it lasts, the operator looks at the NATS servers.',
  ACTOR_STOPPED: 'Tell the operator, who restarts the member; the log has the cause. Reads go on meanwhile.',
  WRITES_STOPPED:
    'Repeat it after the seconds in `Retry-After`. The operator looks at the disk; the log and the message have the error of the system.',
  OIDC_NOT_CONFIGURED:
    'Have an administrator of the tenant set what the message names in the configuration of the provider.',
  UPSTREAM_TIMEOUT:
    'Repeat it later. When it lasts, see why the other server is slow, or raise the time in the setting of the connection.',
  DEADLINE_EXCEEDED:
    'Repeat it, a write with the same `Idempotency-Key`, for it may have taken effect. When it lasts, ask for less at once.',
  STORAGE_FULL:
    'Tell the operator, who frees space or enlarges the volume. Reads go on, and deletions while there is some room; writes do when there is enough.',
};
