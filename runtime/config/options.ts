import { checkBaseAddress, checkMailbox, checkPort, checkSmtpUrl } from './mail-checks.ts';
import {
  booleanOption,
  choiceOption,
  integerOption,
  type Option,
  optionalTextOption,
  secretOption,
  textListOption,
  textOption,
} from './option.ts';
import {
  checkAdminPassword,
  checkAllowedHost,
  checkClusterName,
  checkHost,
  checkHttpUrl,
  checkJwtSecret,
  checkMasterKey,
  checkMemberId,
  checkMetricsToken,
  checkNatsUrl,
  checkOrigin,
  checkOriginOrAny,
} from './text-checks.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

const server = {
  port: integerOption({
    environment: 'PORT',
    unit: 'port',
    default: 8080,
    min: 0,
    max: 65_535,
    description:
      'TCP port for HTTP. With 0 the system chooses a free port, which is logged; this is for tests. Most systems require extra privileges for ports below 1024.',
  }),
  host: textOption({
    environment: 'SVC_HOST',
    type: 'host name or IP address',
    default: '127.0.0.1',
    check: checkHost,
    description:
      'Address to listen on. The default accepts connections from this machine only. `0.0.0.0` accepts connections from everywhere: put a proxy with TLS in front of it.',
  }),
  dataDir: textOption({
    environment: 'SVC_DATA_DIR',
    type: 'folder',
    default: './data',
    description:
      'Data directory: journal, shards and generated secrets. It is created when it is missing. It must be on a local disk, because network file systems and tmpfs do not keep what has been flushed. Only one process at a time may use it.',
  }),
  backupDir: optionalTextOption({
    environment: 'SVC_BACKUP_DIR',
    type: 'folder',
    defaultText: '`backups` in the data folder',
    description:
      'Directory that backups are written to and restored from; no request writes anywhere else. Use another disk than that of the data, so that one failing disk does not take both. The server does not start when it is the data directory itself or one of its own folders. Anyone who can read it can read all content.',
  }),
  jwtSecret: secretOption({
    environment: 'JWT_SECRET',
    type: 'text of at least 32 bytes',
    defaultText: 'generated once into the data folder',
    check: checkJwtSecret,
    description:
      'Key that signs access tokens. Anyone who knows it can sign in as any user. The server does not start with a weak key, because it could be guessed from any token. Changing it invalidates every issued token.',
  }),
  jwtSecretPrevious: secretOption({
    environment: 'JWT_SECRET_PREVIOUS',
    type: 'text of at least 32 bytes',
    defaultText: 'none',
    check: checkJwtSecret,
    description:
      'Key that signed access tokens before `JWT_SECRET` was changed. Tokens with it are still accepted, and none is signed with it. Remove it when the longest lifetime of a token has passed; as long as it is set, anyone who knows it can sign in as any user.',
  }),
  masterKey: secretOption({
    environment: 'SVC_MASTER_KEY',
    type: '32 bytes as 64 hex digits or base64',
    defaultText: 'generated once into the data folder',
    check: checkMasterKey,
    description:
      'Key that encrypts stored secrets, signs backups, and signs the messages and logs of a cluster. Without it, stored secrets cannot be read: keep a copy apart from the data.',
  }),
  masterKeyPrevious: secretOption({
    environment: 'SVC_MASTER_KEY_PREVIOUS',
    type: '32 bytes as 64 hex digits or base64',
    defaultText: 'file `secrets/master-key-previous` in the data folder, if there is one',
    check: checkMasterKey,
    description:
      'Key that was in `SVC_MASTER_KEY` before it was changed. What was encrypted or signed with it is still accepted, and encrypted with the new key in the background; nothing else is encrypted or signed with it. Remove it when the status says that nothing needs it any more: as long as it is set, anyone who knows it can use it. The server does not start when both are the same key.',
  }),
  adminPassword: secretOption({
    environment: 'SVC_ADMIN_PASSWORD',
    type: 'text of at least 12 characters with lower case, upper case, digit and another character',
    defaultText: 'a random one, printed once at the first start',
    check: checkAdminPassword,
    description:
      'Password given to user `admin` of tenant `default` when that account is created at the first start. Afterwards it has no effect, and the log says so; `npm run reset-password` sets another password. The server does not start with a weak one.',
  }),
  anonymousEnabled: booleanOption({
    environment: 'SVC_ANONYMOUS_ENABLED',
    default: false,
    description:
      'Whether callers without a login may do what the role `anonymous` of a repository permits. A tenant and a repository may say otherwise. When it is off, and they say nothing, such callers see nothing.',
  }),
  metricsToken: secretOption({
    environment: 'SVC_METRICS_TOKEN',
    type: 'text of at least 16 characters without spaces',
    defaultText: 'none',
    check: checkMetricsToken,
    description:
      'Bearer token that may read `/metrics`, the details of `/ready` and the state of the cluster from other machines, and nothing else: any other request with it is answered 403. It does not depend on stored accounts, so it works while they cannot be read. The server does not start with a short one.',
  }),
  baseUrl: optionalTextOption({
    environment: 'SVC_BASE_URL',
    type: 'origin',
    defaultText: 'none',
    check: checkOrigin,
    description:
      'The origin clients use, such as `https://content.example.org`: the start of links and of callbacks of login providers. Without it these need addresses of their own: nothing follows the `Host` of a request. With a wrong one, clients refuse tokens and links do not work.',
  }),
  trustForwardedHeaders: booleanOption({
    environment: 'SVC_TRUST_FORWARDED_HEADERS',
    default: false,
    description:
      'Whether `X-Forwarded-For` is trusted. When it is off behind a proxy, all clients have the address of the proxy: a hundred wrong passwords or registrations of one client delay those of others, all share one limit on connections, and the log has a warning. Turn it on only behind a proxy that overwrites these headers: otherwise any client can choose its own address.',
  }),
  logLevel: choiceOption({
    environment: 'SVC_LOG_LEVEL',
    choices: ['debug', 'info', 'warn', 'error', 'silent'],
    default: 'info',
    description:
      'Lowest level that is written. `debug` writes a line per request, which costs throughput; `error` hides warnings.',
  }),
  logFormat: choiceOption({
    environment: 'SVC_LOG_FORMAT',
    choices: ['automatic', 'text', 'json'],
    default: 'automatic',
    description:
      'Format of log lines. `json`: one object per line, with the name of the member in `member`. `text`: for people. `automatic` is `text` at a terminal and `json` elsewhere. With `json`, standard output has log lines only: the first password and the first steps go to standard error.',
  }),
  slowStatementMs: integerOption({
    environment: 'SVC_SLOW_STATEMENT_MS',
    unit: 'milliseconds',
    default: 1_000,
    min: 0,
    max: 3_600_000,
    canBeOff: true,
    description:
      'Time from which a statement of SQL is logged as slow, as a warning with its plan and without its values; with 0 or `off` none is logged. Too low fills the log with ordinary statements; too high hides those that make the server slow.',
  }),
  corsAllowedOrigins: textListOption({
    environment: 'SVC_CORS_ALLOWED_ORIGINS',
    type: 'list of origins, or `*`',
    entriesMax: 1_000,
    alone: '*',
    check: checkOriginOrAny,
    description:
      'Origins whose pages may call the server from a browser. A listed origin is reflected with credentials; `*` admits every page, without credentials.',
  }),
  natsUrl: textListOption({
    environment: 'SVC_NATS_URL',
    type: 'list of addresses such as `nats://host:4222`',
    entriesMax: 32,
    check: checkNatsUrl,
    description:
      'NATS servers; list all of them. When it is set, the process is a member of a cluster; otherwise it runs alone. `tls://host:4222` requires TLS: a server without TLS is refused. Members of a cluster need the same `JWT_SECRET` and `SVC_MASTER_KEY`.',
  }),
  natsCreds: optionalTextOption({
    environment: 'SVC_NATS_CREDS',
    type: 'file',
    defaultText: 'user and password of the addresses, if they have any',
    description:
      'Credentials file for NATS, in the format of `nsc`. Anyone who can read the file can act as a member of the cluster.',
  }),
  natsCa: optionalTextOption({
    environment: 'SVC_NATS_CA',
    type: 'file',
    defaultText: 'the authorities of the system',
    description:
      'PEM file with the certificate authorities of the NATS servers. Every address of `SVC_NATS_URL` must begin with `tls://` then. A server is refused when its certificate is signed by no authority of the file or names none of the configured hosts.',
  }),
  memberId: optionalTextOption({
    environment: 'SVC_MEMBER_ID',
    type: 'text of at most 200 characters',
    defaultText: 'host name and port',
    check: checkMemberId,
    description:
      'Name of this member in its cluster. It must stay the same over restarts and be unique in the cluster.',
  }),
  shutdownGraceMs: integerOption({
    unit: 'milliseconds',
    default: 20_000,
    min: 0,
    max: 600_000,
    description:
      'Time in which the process ends after SIGTERM. Requests in progress have three quarters of it before their connections are closed. The rest, and at least 5 seconds, is for closing files and handing partitions over. Too low cuts off clients whose writes may have happened; too high and the supervisor kills the process first.',
  }),
};

const cluster = {
  durability: choiceOption({
    choices: ['automatic', 'local', 'relaxed', 'quorum', 'quorum-disk', 'replica-disk'],
    default: 'automatic',
    description:
      'What has to happen before a write is acknowledged. Without a cluster: `local` (the automatic choice) flushes the journal first, so the write survives power loss; `relaxed` flushes it every 100 ms, so the write survives a killed process, and the last 100 ms may be lost when the machine fails. In a cluster: with `quorum` a majority of the NATS servers has the write, so it survives the end of any processes; with `quorum-disk` a majority has flushed it, so it survives power loss of all machines; with `replica-disk` the owner and a follower have flushed it as well, for NATS servers that do not flush, so it survives power loss of all machines, and writes need two members. `automatic` is `quorum-disk` where the monitoring pages show that the NATS servers flush, otherwise `replica-disk`. The server does not start with a class that the NATS servers cannot provide.',
  }),
  name: textOption({
    type: 'lower-case letters, digits and `-`',
    default: 'grove',
    check: checkClusterName,
    description:
      'Prefix of all names in NATS, so that several clusters can share an account. It is the same on all members and cannot be changed later.',
  }),
  partitions: integerOption({
    unit: 'partitions',
    default: 32,
    min: 1,
    max: 256,
    description:
      'Number of logs that the repositories are distributed over, each owned by one member. It is the same on all members and cannot be changed later. With too few, some members have no work; each costs the NATS servers a stream.',
  }),
  replicas: integerOption({
    unit: 'servers',
    default: 3,
    min: 1,
    max: 5,
    description:
      'Number of NATS servers that have a copy of each log. With fewer than 3, the loss of one server loses writes: use that for experiments only.',
  }),
  leaseMs: integerOption({
    unit: 'milliseconds',
    default: 4_000,
    min: 500,
    max: 60_000,
    description:
      'Duration of the read lease of the owner of a partition, the same on all members. After an owner has died, its partition is not available for this time. The shorter it is, the more often an owner without writes has to query the log before it answers.',
  }),
  logBytesMax: integerOption({
    unit: 'bytes',
    default: 2 * 1024 * mebibyte,
    min: 64 * mebibyte,
    max: 4_096 * 1024 * mebibyte,
    description:
      'Maximum size of each log. The NATS servers reserve it for every partition, so their `max_file_store` has to be large enough. A full log refuses writes.',
  }),
  flushJournalBytesMax: integerOption({
    unit: 'bytes',
    default: 4 * 1024 * mebibyte,
    min: 256 * mebibyte,
    max: 4_096 * 1024 * mebibyte,
    description:
      'Durability `replica-disk`: maximum size of the flush journal of a partition on the disk of each member. The journal keeps the writes of the last ten minutes, because NATS servers may lose them at a power failure. When it is full, writes to the partition are answered 507 until some of them are older. So the sustained write rate of a partition is at most a six hundredth of this size per second.',
  }),
  snapshotLogBytes: integerOption({
    unit: 'bytes',
    default: 256 * mebibyte,
    min: mebibyte,
    max: 512 * 1024 * mebibyte,
    description:
      'Growth of a log after which a snapshot of the partition is written to the object store of NATS; an eighth of `log_bytes_max` where that is less. The log is truncated up to the older of two snapshots. Too low copies the same branches again and again; too high keeps long logs, which new members have to read.',
  }),
  logKeepMs: integerOption({
    unit: 'milliseconds',
    default: 3_600_000,
    min: 0,
    max: 30 * 86_400_000,
    description:
      'Time that records stay in a log after a snapshot has them, so that a member that was away for less can continue from its own position. A log that is three quarters full is truncated earlier.',
  }),
  acceptUnsigned: booleanOption({
    default: false,
    description:
      'Whether messages and records without a signature of the cluster are trusted. It is for a rolling upgrade from a version that does not sign; turn it off afterwards. While it is on, anyone with credentials of NATS can act as any user, and the status has an alarm.',
  }),
  natsMonitorUrls: textListOption({
    type: 'list of addresses such as `http://host:8222`',
    entriesMax: 32,
    check: checkHttpUrl,
    description:
      'Monitoring addresses of the NATS servers, one for each. They show the versions and whether the servers flush before they acknowledge, which durability `quorum-disk` needs.',
  }),
};

const locks = {
  enabled: booleanOption({
    default: true,
    description:
      'Whether locks and inventory are served. When it is off, their routes and every write that names a lock answer 503 `LOCKS_DISABLED`; stored locks are kept.',
  }),
};

const email = {
  smtpUrl: secretOption({
    environment: 'SVC_SMTP_URL',
    type: '`smtps://` or `smtp://` address, with user name and password',
    defaultText: 'none',
    check: checkSmtpUrl,
    description:
      'Mail server for tenants that have no mail settings of their own. `smtps://user:password@mail.example.org` uses TLS from the beginning (port 465), `smtp://` needs STARTTLS (port 587), and `?security=none` after it uses neither, for a relay on the same machine. Special characters of user name and password are percent-encoded. Without it, and without settings of the tenant, login links are answered 503 `EMAIL_NOT_CONFIGURED`.',
  }),
  from: optionalTextOption({
    environment: 'SVC_EMAIL_FROM',
    type: 'mailbox',
    defaultText: 'none',
    check: checkMailbox,
    description:
      'Sender of mail through `SVC_SMTP_URL`, such as `login@example.org` or `Example <login@example.org>`. The mail server must be allowed to send for its domain (SPF, DKIM), otherwise mail is filed as spam.',
  }),
  emailBaseUrl: optionalTextOption({
    environment: 'SVC_EMAIL_BASE_URL',
    type: 'http or https address',
    defaultText: '`SVC_BASE_URL`',
    check: checkBaseAddress,
    description:
      'Where people land after a login by a link, and what `redirect_url` of a request must lie under, for tenants without mail settings of their own. The page there gets the tokens of the person.',
  }),
  redirectAllowlist: textListOption({
    type: 'list of http or https addresses',
    entriesMax: 100,
    check: checkBaseAddress,
    description:
      'Further addresses that `redirect_url` may lie under, for tenants without mail settings of their own. Pages there get the tokens of people: list only what you control.',
  }),
  allowPrivateServers: booleanOption({
    default: false,
    description:
      'Whether mail servers of tenants may be on this machine, in private networks, and used without TLS. Administrators of tenants choose their addresses: turn it on only when all of them may connect into the network of the server. It does not concern `SVC_SMTP_URL`.',
  }),
  allowedPorts: textListOption({
    type: 'list of ports as texts',
    entriesMax: 32,
    check: checkPort,
    description:
      'Ports of mail servers of tenants. When it is empty: 25, 465, 587 and 2525. It does not concern `SVC_SMTP_URL`.',
  }),
};

const egress = {
  oidcAllowPrivate: booleanOption({
    default: false,
    description:
      'Whether OpenID providers may be on this machine, in private networks, and reached by plain HTTP. Administrators of tenants choose the addresses of providers: turn it on only when all of them may send requests into the network of the server. When it is off, logins at a provider in that network are refused.',
  }),
};

const mcpClient = {
  allowedHosts: textListOption({
    type: 'list of host names or IP addresses',
    entriesMax: 1_000,
    check: checkAllowedHost,
    description:
      'Hosts of remote MCP servers that connections may be made to, with those of their authorization servers. When it is empty, every public host is allowed. A host that is missing is refused when the connection is saved, and before each request.',
  }),
  allowPrivateAddresses: booleanOption({
    default: false,
    description:
      'Whether remote MCP servers may be on this machine, in private networks, and reached by plain HTTP. Administrators of tenants choose their addresses: turn it on only when all of them may send requests into the network of the server, or together with `allowed_hosts`.',
  }),
  maxResponseBytes: integerOption({
    unit: 'bytes',
    default: 8 * mebibyte,
    min: kibibyte,
    max: 256 * mebibyte,
    description:
      'Largest response of a remote MCP server, as sent and as decompressed. Too low refuses the results of tools; too high lets a few servers fill the memory.',
  }),
  defaultTimeoutMs: integerOption({
    unit: 'milliseconds',
    default: 30_000,
    min: 100,
    max: 600_000,
    description:
      'Time that a request to a remote MCP server may take, unless its connection has a time of its own. Too low ends the calls of slow tools; too high keeps connections and requests waiting for servers that do not answer.',
  }),
};

const limits = {
  bodyBytesMax: integerOption({
    unit: 'bytes',
    default: 16 * mebibyte,
    min: kibibyte,
    max: 1024 * mebibyte,
    description:
      'Largest request body; more is answered 413. Too low refuses big nodes; too high lets few clients fill the memory, because a body is kept in memory as a whole.',
  }),
  anonymousBodyBytesMax: integerOption({
    unit: 'bytes',
    default: 64 * kibibyte,
    min: kibibyte,
    max: 1024 * mebibyte,
    description:
      'Largest request body of a caller who has not logged in; more is answered 413. Too low refuses ordinary queries and logins; too high lets anyone who can reach the port fill the memory and keep the processor busy with parsing.',
  }),
  jsonValuesMax: integerOption({
    unit: 'values',
    default: 200_000,
    min: 10_000,
    max: 100_000_000,
    description:
      'Maximum number of values and keys of one JSON body; more is answered 413. A key that no earlier object has at the same place counts as ten. One node is checked in one step, which takes up to 50 ms with the default. Too low refuses ordinary documents; too high lets one request delay all others.',
  }),
  replyBytesTotalMax: integerOption({
    unit: 'bytes',
    default: 256 * mebibyte,
    min: mebibyte,
    max: 65_536 * mebibyte,
    description:
      'Memory for all answers that wait for slow clients, at most an eighth of the heap. When it is used up, large answers wait or are answered 503, and a client that reads nothing for two seconds is disconnected. Too low makes large answers wait for each other; too high lets slow clients fill the memory. One connection takes at most one node more than the buffers of the system. The same amount again, at most another eighth of the heap, is for large nodes that are being read; further reads of large nodes wait.',
  }),
  replyStallMs: integerOption({
    unit: 'milliseconds',
    default: 30_000,
    min: 1_000,
    max: 600_000,
    description:
      'Time after which a client that reads nothing of its answer is disconnected. Too low disconnects clients on slow networks; too high keeps connections and memory for clients that are gone.',
  }),
  requestWorkMs: integerOption({
    unit: 'milliseconds',
    default: 30_000,
    min: 100,
    max: 3_600_000,
    description:
      'Processor time that one request may take for filters, sorting, patterns and changes of large nodes, as estimated from what it does; more is answered 413 `REQUEST_TOO_EXPENSIVE`. The work is done in slices, so a long request does not block others, but it takes its share of the processor. Too low refuses queries over large trees; too high lets one caller slow all others down.',
  }),
  requestMemoryBytes: integerOption({
    unit: 'bytes',
    default: 128 * mebibyte,
    min: mebibyte,
    max: 65_536 * mebibyte,
    description:
      'Memory that one request may use until it can answer, for example for matches that have to be sorted; more is answered 413 `REQUEST_TOO_EXPENSIVE`. Too low refuses sorted queries without `limit` over large trees; too high lets few of them fill the memory.',
  }),
  jsonDepthMax: integerOption({
    unit: 'levels',
    default: 128,
    min: 8,
    max: 1_000,
    description:
      'Deepest nesting of a JSON body. Too low refuses deep documents; too high lets a small body use up the stack.',
  }),
  pathBytesMax: integerOption({
    unit: 'bytes',
    default: 4 * kibibyte,
    min: 256,
    max: 8 * kibibyte,
    // Configurations from before node paths had to be addressable still start.
    acceptedMax: 12 * kibibyte,
    description:
      'Maximum length of the path of a node, also after a move, a copy or a merge of its ancestors. Too low refuses deep trees; too high takes from the 16 KiB that the request line and the headers may have together.',
  }),
  commitNodesMax: integerOption({
    unit: 'nodes',
    default: 100_000,
    min: 1,
    max: 10_000_000,
    description:
      'Most nodes one commit may change; more is answered 413. With a small heap the limit is lower: a third of the heap above 96 MiB, divided by 5 KiB, which is 62,000 nodes with 1 GiB (`NODE_OPTIONS=--max-old-space-size`). Too low refuses moves and deletes of big trees; too high lets one commit hold up the other writers of its branch for seconds.',
  }),
  mailboxMax: integerOption({
    unit: 'commands',
    default: 4_096,
    min: 1,
    max: 1_000_000,
    description:
      'Maximum number of commands that wait for one actor; more are answered 503. Too low refuses short bursts; too high makes clients wait longer than their deadline.',
  }),
  batchCommandsMax: integerOption({
    unit: 'commands',
    default: 512,
    min: 1,
    max: 65_536,
    description:
      'Maximum number of commands that are made durable together. Too low needs a disk flush for few writes; too high lengthens the wait of the first command of a batch.',
  }),
  batchBytesMax: integerOption({
    unit: 'bytes',
    default: 4 * mebibyte,
    min: 64 * kibibyte,
    max: 256 * mebibyte,
    description:
      'Size at which a batch is closed; a larger command is a batch of its own. Too low needs more disk flushes; too high makes small writes wait behind big ones.',
  }),
  applyPendingBytesMax: integerOption({
    unit: 'bytes',
    default: 64 * mebibyte,
    min: mebibyte,
    max: 4096 * mebibyte,
    description:
      'Size of the write-sets of a branch that are durable in the journal and not yet in the shard; above it, writers wait. It is less with a small heap. Too low makes many small shard commits; too high costs memory and a longer replay after a crash.',
  }),
  journalSegmentBytes: integerOption({
    unit: 'bytes',
    default: 64 * mebibyte,
    min: mebibyte,
    max: 4096 * mebibyte,
    description:
      'Size at which the journal starts a new file. Too low makes and removes files all the time; too high keeps more disk space until every shard is past a segment.',
  }),
  idleActorCloseMs: integerOption({
    unit: 'milliseconds',
    default: 300_000,
    min: 100,
    max: 86_400_000,
    description:
      'Idle time after which a branch or tenant is closed and its memory is released. Too low opens the same files again and again; too high keeps thousands of unused branches mapped.',
  }),
  removedKeepMs: integerOption({
    unit: 'milliseconds',
    default: 86_400_000,
    min: 0,
    max: 2_592_000_000,
    description:
      'Time that the files of deleted repositories and branches, and of rebuilt actors, stay in `.removed`; 0 removes them at once. They are removed earlier when the volume is almost full. Too low leaves no time to notice a deletion by mistake; too high uses disk space for deleted data.',
  }),
  openActorsMax: integerOption({
    unit: 'actors',
    default: 1_024,
    min: 8,
    max: 65_536,
    description:
      'Most actors open at once, over all partitions a member owns; the longest idle one is closed first. Too low makes requests wait for reopening; too high runs into the limits of open files and memory maps of the system.',
  }),
  inFlightRequestsMax: integerOption({
    unit: 'requests',
    default: 4_096,
    min: 1,
    max: 1_000_000,
    description:
      'Maximum number of requests in progress; more are answered 503. When more than half are in use, one caller may have a quarter; when more than three quarters are in use, one tenant may have half; more requests of theirs are answered 429. With a small heap the limit is lower: a quarter of the heap, divided by 32 KiB. Too low refuses load that could be served; too high uses up the memory before a request is refused.',
  }),
  connectionsMax: integerOption({
    unit: 'connections',
    default: 8_192,
    min: 8,
    max: 1_000_000,
    description:
      'Maximum number of open connections of clients; a further one is closed at once. It is lower when the system allows the process few open files (`ulimit -n`), so that the journal and the shards always have theirs. Too low refuses clients; too high lets a flood of connections use up the memory.',
  }),
  connectionsPerAddressMax: integerOption({
    unit: 'connections',
    default: 2_048,
    min: 1,
    max: 1_000_000,
    description:
      'Maximum number of connections of one address (of one /64 network for IPv6), at most half of all. It does not apply with `SVC_TRUST_FORWARDED_HEADERS`, where all connections come from the proxy: limit addresses there. Too low refuses offices that share an address; too high lets one machine take all connections.',
  }),
  idempotencyTtlHours: integerOption({
    unit: 'hours',
    default: 24,
    min: 1,
    max: 720,
    description:
      'Time that the outcome of a write with `Idempotency-Key` is kept for replay. Too low and a late retry writes again; too high needs more space.',
  }),
  idempotencyEntriesMax: integerOption({
    unit: 'entries',
    default: 1_000_000,
    min: 100,
    max: 100_000_000,
    description:
      'Maximum number of outcomes that are kept. When it is reached, writes with a key are answered 429, because removing an outcome early could let a retry write twice. Too low refuses keyed writes; too high costs disk space.',
  }),
  spaceAlarmPercent: integerOption({
    unit: 'percent',
    default: 80,
    min: 1,
    max: 100,
    description:
      'How full a volume of the data, or the log of a partition, may be before the status has an alarm. Too low raises alarms that are ignored; too high leaves no time to act.',
  }),
  spaceRefusePercent: integerOption({
    unit: 'percent',
    default: 90,
    min: 1,
    max: 100,
    description:
      'How full it may be before writes are answered 507, except those that delete or release something. Too low wastes space; too high lets a burst fill the disk before the next check, which runs once a second.',
  }),
  spaceReadOnlyPercent: integerOption({
    unit: 'percent',
    default: 95,
    min: 1,
    max: 100,
    description:
      'How full it may be before all writes are answered 507. Too low prevents clients from deleting; too high leaves no space for what a restart has to write.',
  }),
  checkIntervalHours: integerOption({
    unit: 'hours',
    default: 168,
    min: 0,
    max: 8_760,
    description:
      'Time between two checks of all stored data of this member, which run at the lowest priority; with 0 none is started by itself. Too low reads and copies the data again and again; too high finds damage of data that nobody reads when its backups are gone.',
  }),
  jobWorkers: integerOption({
    unit: 'jobs',
    default: 4,
    min: 0,
    max: 64,
    description:
      'Maximum number of background jobs that run at once; with 0 they wait for another member or a later start. Too low lets long jobs delay short ones; too high takes processor time from requests.',
  }),
  jobRetentionHours: integerOption({
    unit: 'hours',
    default: 24,
    min: 1,
    max: 8_760,
    description:
      'Time that a completed background job is kept; a failed one is kept seven times as long. Too low and its outcome cannot be read later; too high makes the list of jobs long.',
  }),
};

/**
 * All options of a member, by section of the configuration file. The keys of the file are these names in snake case.
 * Known sections without options in this version are empty.
 *
 * @see docs/configuration.md#configuration
 */
export const optionTable = Object.freeze({
  server: Object.freeze(server),
  cluster: Object.freeze(cluster),
  locks: Object.freeze(locks),
  email: Object.freeze(email),
  egress: Object.freeze(egress),
  mcpClient: Object.freeze(mcpClient),
  functions: Object.freeze({}),
  limits: Object.freeze(limits),
});

type ValueOf<O> = O extends Option<infer Value> ? Value : never;

/** The configuration of a member: a checked value for every option, frozen, with units in the names. */
export type Options = {
  readonly [Section in keyof typeof optionTable]: {
    readonly [Name in keyof (typeof optionTable)[Section]]: ValueOf<(typeof optionTable)[Section][Name]>;
  };
};

/** The limits of a member. */
export type Limits = Options['limits'];

/** The lowest log level that is written. */
export type LogLevel = Options['server']['logLevel'];

/** The failures an answered write survives. */
export type Durability = Options['cluster']['durability'];

/** One option with its location, for loading, help and documentation. */
export interface OptionEntry {
  /** Property of {@link Options}. */
  readonly section: string;
  /** Property of the section. */
  readonly name: string;
  /** Section of the configuration file. */
  readonly fileSection: string;
  /** Key in the section of the configuration file. */
  readonly fileKey: string;
  readonly option: Option<unknown>;
}

/** Name of the environment variable with the path of the configuration file. */
export const configFileVariable = 'SVC_CONFIG';

/** The configuration file that is read when it exists and `SVC_CONFIG` names no other. */
export const defaultConfigFile = './svc.toml';

/** The sections of the configuration file, in order. */
export const fileSections: readonly string[] = Object.keys(optionTable).map(snakeCaseOf);

/** All options with their locations, in the order of the documentation. */
export const optionEntries: readonly OptionEntry[] = Object.entries(optionTable).flatMap(
  ([section, members]) =>
    Object.entries(members as Record<string, Option<unknown>>).map(([name, option]) =>
      Object.freeze({ section, name, fileSection: snakeCaseOf(section), fileKey: snakeCaseOf(name), option }),
    ),
);

/** The default limits. */
export const defaultLimits: Limits = Object.freeze(
  Object.fromEntries(Object.entries(limits).map(([name, option]) => [name, option.defaultValue])),
) as Limits;

function snakeCaseOf(name: string): string {
  return name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}
