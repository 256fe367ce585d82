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
      'TCP port for HTTP. 0 takes any free port and logs it, which suits tests. Below 1024 most systems ask for extra rights.',
  }),
  host: textOption({
    environment: 'SVC_HOST',
    type: 'host name or IP address',
    default: '127.0.0.1',
    check: checkHost,
    description:
      'Address to listen on. The default takes local connections only; `0.0.0.0` takes connections from everywhere, which is an explicit choice: put TLS in front of it.',
  }),
  dataDir: textOption({
    environment: 'SVC_DATA_DIR',
    type: 'folder',
    default: './data',
    description:
      'Where journal, shards and generated secrets live; created when missing. It must be on a local disk: network file systems and tmpfs lose what was promised to be durable. One process at a time may use it.',
  }),
  backupDir: optionalTextOption({
    environment: 'SVC_BACKUP_DIR',
    type: 'folder',
    defaultText: '`backups` in the data folder',
    description:
      'Where backups are written to and restored from; no route writes anywhere else. Best another disk than the data: one that fails takes both. The data folder itself, and the folders in it that have other files, refuse to start. Who can read it can read all content.',
  }),
  jwtSecret: secretOption({
    environment: 'JWT_SECRET',
    type: 'text of at least 32 bytes',
    defaultText: 'generated once into the data folder',
    check: checkJwtSecret,
    description:
      'Key that signs access tokens. Who knows it can sign in as anybody; a weak one can be guessed from any token and refuses to start. Changing it makes every issued token invalid.',
  }),
  masterKey: secretOption({
    environment: 'SVC_MASTER_KEY',
    type: '32 bytes as 64 hex digits or base64',
    defaultText: 'generated once into the data folder',
    check: checkMasterKey,
    description:
      'Key that encrypts stored secrets and derives the key of signed links. Losing it makes stored secrets unreadable: keep a copy apart from the data.',
  }),
  adminPassword: secretOption({
    environment: 'SVC_ADMIN_PASSWORD',
    type: 'text of at least 12 characters with lower case, upper case, digit and another character',
    defaultText: 'a random one, printed once at the first start',
    check: checkAdminPassword,
    description:
      'Password given to user `admin` of tenant `default` when that account is created at the first start. Afterwards it changes nothing, which the log says; `npm run reset-password` sets another one. A weak one refuses to start.',
  }),
  metricsToken: secretOption({
    environment: 'SVC_METRICS_TOKEN',
    type: 'text of at least 16 characters without spaces',
    defaultText: 'none',
    check: checkMetricsToken,
    description:
      'Bearer token that may read `/metrics`, the details of `/ready` and the state of the cluster from elsewhere than this machine, and nothing else. It is compared in the member itself, so it works while accounts cannot be read. Anything else that is asked with it is answered 403. A short one refuses to start.',
  }),
  baseUrl: optionalTextOption({
    environment: 'SVC_BASE_URL',
    type: 'origin',
    defaultText: 'taken from the request',
    check: checkOrigin,
    description:
      'The origin clients use, such as `https://content.example.org`: issuer and audience of tokens, and the start of every link. Set it behind a reverse proxy; a wrong one makes clients refuse tokens and links lead nowhere.',
  }),
  trustForwardedHeaders: booleanOption({
    environment: 'SVC_TRUST_FORWARDED_HEADERS',
    default: false,
    description:
      'Whether `X-Forwarded-*` headers are believed. Off behind a proxy, all clients have its address: a few wrong passwords of one hold up the logins of all, and they share one bound on connections; the log has a warning then. Turn it on only behind a proxy that overwrites them: otherwise any client can choose its own address and the origin in links.',
  }),
  logLevel: choiceOption({
    environment: 'SVC_LOG_LEVEL',
    choices: ['debug', 'info', 'warn', 'error', 'silent'],
    default: 'info',
    description:
      'The least important line that is still written. `debug` writes a line per request and costs throughput; `error` hides the warnings that come before trouble.',
  }),
  logFormat: choiceOption({
    environment: 'SVC_LOG_FORMAT',
    choices: ['automatic', 'text', 'json'],
    default: 'automatic',
    description:
      'How log lines are written. `json`: one object a line, with the name of the member in `member`. `text`: for people. `automatic` is `text` at a terminal and `json` elsewhere. With `json` standard output has nothing else: the first password and what to do next go to standard error.',
  }),
  corsAllowedOrigins: textListOption({
    environment: 'SVC_CORS_ALLOWED_ORIGINS',
    type: 'list of origins, or `*`',
    entriesMax: 1_000,
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
      'NATS servers, best all of them. Set, the member is one of a cluster; unset, it runs alone. `tls://host:4222` demands TLS: a server without it is refused. Members of a cluster need the same `JWT_SECRET` and `SVC_MASTER_KEY`.',
  }),
  natsCreds: optionalTextOption({
    environment: 'SVC_NATS_CREDS',
    type: 'file',
    defaultText: 'user and password of the addresses, if they have any',
    description:
      'Credentials file for NATS, as `nsc` writes them. A file that others can read gives the cluster away.',
  }),
  natsCa: optionalTextOption({
    environment: 'SVC_NATS_CA',
    type: 'file',
    defaultText: 'the authorities of the system',
    description:
      'Certificates (PEM) of the authorities that sign those of the NATS servers. Every address of `SVC_NATS_URL` begins with `tls://` then. A server whose certificate is of nobody in the file, or for none of the configured hosts, is refused.',
  }),
  memberId: optionalTextOption({
    environment: 'SVC_MEMBER_ID',
    type: 'text of at most 200 characters',
    defaultText: 'host name and port',
    check: checkMemberId,
    description:
      'Name of this member in its cluster. It keeps its name over restarts, and no other member may have it.',
  }),
  shutdownGraceMs: integerOption({
    unit: 'milliseconds',
    default: 20_000,
    min: 0,
    max: 600_000,
    description:
      'How long the process takes to end after SIGTERM. Requests under way have three quarters of it before their connections are cut; the rest, and at least 5 seconds, is for closing files and handing over. Too low cuts off clients whose writes may have happened; too high and the supervisor kills the process first.',
  }),
};

const cluster = {
  durability: choiceOption({
    choices: ['automatic', 'local', 'relaxed', 'quorum', 'quorum-disk', 'replica-disk'],
    default: 'automatic',
    description:
      'What an answered write has survived. Embedded, `local` (the automatic choice): the journal is flushed first, so it survives power loss; `relaxed`: it is flushed every 100 ms, so it survives a killed process and may lose the last moment when the machine goes down. In a cluster, `quorum`: most NATS servers have it, so it survives the death of any processes; `quorum-disk`: most have flushed it, so it survives power loss everywhere; `replica-disk`: the owner and a follower have flushed it besides, for NATS servers that cannot, so it survives power loss everywhere, and writes need two members. `automatic` is `quorum-disk` where the monitoring pages prove it, else `replica-disk`. A class the servers cannot give refuses to start.',
  }),
  name: textOption({
    type: 'lower-case letters, digits and `-`',
    default: 'grove',
    check: checkClusterName,
    description:
      'Begins the names of everything in NATS, so that several clusters can share an account. All members have the same; it is chosen once.',
  }),
  partitions: integerOption({
    unit: 'partitions',
    default: 32,
    min: 1,
    max: 256,
    description:
      'Logs the repositories are spread over, each owned by one member. Chosen once in the life of a cluster, the same on all members. Too few leave members without work; each costs the NATS servers a stream.',
  }),
  replicas: integerOption({
    unit: 'servers',
    default: 3,
    min: 1,
    max: 5,
    description:
      'NATS servers that hold each log. With fewer than 3 the loss of one server loses writes, so that is for trying things out only.',
  }),
  leaseMs: integerOption({
    unit: 'milliseconds',
    default: 4_000,
    min: 500,
    max: 60_000,
    description:
      'Read lease of the owner of a partition, the same on all members. After an owner died its partition waits this long; the shorter, the more often a quiet owner has to ask the log before it answers.',
  }),
  logBytesMax: integerOption({
    unit: 'bytes',
    default: 2 * 1024 * mebibyte,
    min: 64 * mebibyte,
    max: 4_096 * 1024 * mebibyte,
    description:
      'Size each log may reach. The NATS servers reserve it for every partition, so their `max_file_store` has to allow for it; a log that is full refuses writes.',
  }),
  flushJournalBytesMax: integerOption({
    unit: 'bytes',
    default: 4 * 1024 * mebibyte,
    min: 256 * mebibyte,
    max: 4_096 * 1024 * mebibyte,
    description:
      'Durability `replica-disk`: what the flush journal of a partition may take on the disk of each member. It keeps what was written in the last ten minutes, because NATS servers may lose that with their power. Above it writes to the partition are answered 507 until some of that is older: a partition can be written to for long at no more than a six hundredth of it a second.',
  }),
  snapshotLogBytes: integerOption({
    unit: 'bytes',
    default: 256 * mebibyte,
    min: mebibyte,
    max: 512 * 1024 * mebibyte,
    description:
      'A partition gets a snapshot in the object store of NATS whenever its log has grown by so much, or by an eighth of `log_bytes_max` where that is less. The log is cut behind the older of two snapshots. Too low copies the same branches again and again; too high keeps long logs, which new members have to read.',
  }),
  logKeepMs: integerOption({
    unit: 'milliseconds',
    default: 3_600_000,
    min: 0,
    max: 30 * 86_400_000,
    description:
      'How long records stay in a log although snapshots have them, so that a member that was away for less reads on where it stood. A log that is three quarters full is cut earlier.',
  }),
  acceptUnsigned: booleanOption({
    default: false,
    description:
      'Whether what is not signed with a key of the cluster is believed like what is: for a rolling upgrade from a version that does not sign, and no longer. While it is on, whoever has credentials of NATS can act as any user. The status has an alarm meanwhile.',
  }),
  natsMonitorUrls: textListOption({
    type: 'list of addresses such as `http://host:8222`',
    entriesMax: 32,
    check: checkHttpUrl,
    description:
      'Monitoring pages of the NATS servers, one for each. They tell versions and whether the servers flush before they acknowledge, which class `quorum-disk` needs.',
  }),
};

const locks = {
  enabled: booleanOption({
    default: true,
    description:
      'Whether locks and inventory are served. Off, their routes and every write that names a lock answer 503 `LOCKS_DISABLED`; what was stored stays.',
  }),
};

const limits = {
  bodyBytesMax: integerOption({
    unit: 'bytes',
    default: 16 * mebibyte,
    min: kibibyte,
    max: 1024 * mebibyte,
    description:
      'Largest request body; more is answered 413. Too low refuses big nodes; too high lets few clients fill the memory, because a body is held whole.',
  }),
  anonymousBodyBytesMax: integerOption({
    unit: 'bytes',
    default: 64 * kibibyte,
    min: kibibyte,
    max: 1024 * mebibyte,
    description:
      'Largest request body of a caller who has not logged in; more is answered 413. Too low refuses honest queries and logins; too high lets anybody who reaches the port fill the memory and hold the processor with parsing.',
  }),
  jsonValuesMax: integerOption({
    unit: 'values',
    default: 200_000,
    min: 10_000,
    max: 100_000_000,
    description:
      'Most values and keys of one JSON body, where a key that no earlier object has at its place counts as ten; more is answered 413. What is checked of one node is checked in one step that nothing interrupts: the default takes up to 50 ms. Too low refuses honest documents; too high lets one request hold up all others.',
  }),
  replyBytesTotalMax: integerOption({
    unit: 'bytes',
    default: 256 * mebibyte,
    min: mebibyte,
    max: 65_536 * mebibyte,
    description:
      'Memory of all answers together that wait for clients which read slowly, at most an eighth of the heap. When it is used up, large answers wait for room, or are answered 503, and a client that takes nothing for two seconds is cut off. Too low makes large answers wait for each other; too high lets slow clients fill the memory. One connection holds at most one node more than what the system buffers. As much again, and at most another eighth of the heap, is for large nodes that are being read; further reads of large nodes wait for room.',
  }),
  replyStallMs: integerOption({
    unit: 'milliseconds',
    default: 30_000,
    min: 1_000,
    max: 600_000,
    description:
      'Time after which a client that takes nothing of its answer is cut off. Too low cuts off clients on bad lines; too high keeps connections and memory for clients that are gone.',
  }),
  requestWorkMs: integerOption({
    unit: 'milliseconds',
    default: 30_000,
    min: 100,
    max: 3_600_000,
    description:
      'Processor time that one request may take for filters, sorting and patterns, as estimated from what it does; more is answered 413 `REQUEST_TOO_EXPENSIVE`. Work is done in slices, so a long request holds nobody up, but it takes its share of the processor. Too low refuses queries over large trees; too high lets one caller slow all others down for as long.',
  }),
  requestMemoryBytes: integerOption({
    unit: 'bytes',
    default: 128 * mebibyte,
    min: mebibyte,
    max: 65_536 * mebibyte,
    description:
      'Memory that one request may take for what it has to keep until it can answer, such as matches that are to be sorted; more is answered 413 `REQUEST_TOO_EXPENSIVE`. Too low refuses sorted queries without `limit` over large trees; too high lets few of them fill the memory.',
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
    // What was configured before the path of a node had to be addressable still starts.
    acceptedMax: 12 * kibibyte,
    description:
      'Longest path a write may give a node, also by a move, a copy or a merge of a tree that ends deeper. Too low refuses deep trees; too high takes from the 16 KiB that a request line and its headers may have together.',
  }),
  commitNodesMax: integerOption({
    unit: 'nodes',
    default: 100_000,
    min: 1,
    max: 10_000_000,
    description:
      'Most nodes one commit may change; more is answered 413. Where the heap of the process is small it takes fewer, 5 KiB each of a third of what is over beside 96 MiB: 62,000 with 1 GiB (`NODE_OPTIONS=--max-old-space-size`). Too low refuses moves and deletes of big trees; too high lets one commit hold up the other writers of its branch for seconds.',
  }),
  mailboxMax: integerOption({
    unit: 'commands',
    default: 4_096,
    min: 1,
    max: 1_000_000,
    description:
      'Commands that may wait for one actor; more are answered 503. Too low refuses short bursts; too high makes clients wait for an answer that comes after their deadline.',
  }),
  batchCommandsMax: integerOption({
    unit: 'commands',
    default: 512,
    min: 1,
    max: 65_536,
    description:
      'Most commands that one batch makes durable together. Too low pays one disk flush for few writes; too high lengthens the wait of the first command in a batch.',
  }),
  batchBytesMax: integerOption({
    unit: 'bytes',
    default: 4 * mebibyte,
    min: 64 * kibibyte,
    max: 256 * mebibyte,
    description:
      'Size at which a batch is closed; a single larger command is a batch of its own. Too low pays more disk flushes; too high makes small writes wait behind big ones.',
  }),
  applyPendingBytesMax: integerOption({
    unit: 'bytes',
    default: 64 * mebibyte,
    min: mebibyte,
    max: 4096 * mebibyte,
    description:
      'Write-sets kept in memory, durable in the journal but not yet in the shard, before writers have to wait; for each branch, and less where the heap of the process is small. Too low makes many small shard commits; too high costs memory and a longer replay after a crash.',
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
      'Idle time after which a branch or tenant is closed and its memory given back. Too low opens the same files again and again; too high keeps thousands of unused branches mapped.',
  }),
  removedKeepMs: integerOption({
    unit: 'milliseconds',
    default: 86_400_000,
    min: 0,
    max: 2_592_000_000,
    description:
      'Time the files of deleted repositories and branches, and of damaged actors that are made again, stay in `.removed` beside the others; 0 removes them at once. They go earlier when the volume is short of room. Too low leaves no time to notice that something was deleted by mistake; too high keeps disk space of what nobody wants.',
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
      'Requests worked on at once; more are answered 503. Where over half of them are in use a caller may have a quarter, where over three quarters are a tenant half; more of theirs are answered 429. Where the heap of the process is small there are fewer, 32 KiB of a quarter of the heap each. Too low refuses load that could be served; too high uses memory up before anybody is refused.',
  }),
  connectionsMax: integerOption({
    unit: 'connections',
    default: 8_192,
    min: 8,
    max: 1_000_000,
    description:
      'Connections of clients that are kept at once; a further one is closed as soon as it is there. Where the system allows the process too few open files (`ulimit -n`) it is less, so that connections never take those of the journal and the shards. Too low refuses clients; too high lets a flood of connections use the memory up.',
  }),
  connectionsPerAddressMax: integerOption({
    unit: 'connections',
    default: 2_048,
    min: 1,
    max: 1_000_000,
    description:
      "Connections of one address (of one IPv6 network of 64 bits), at most half of all that are kept. It does not hold with `SVC_TRUST_FORWARDED_HEADERS`, where every connection is the proxy's: bound addresses at the proxy. Too low refuses offices that share an address; too high lets one machine take all connections.",
  }),
  idempotencyTtlHours: integerOption({
    unit: 'hours',
    default: 24,
    min: 1,
    max: 720,
    description:
      'How long the outcome of a write with `Idempotency-Key` is kept for replay. Too low and a late retry writes again; too high fills the store of outcomes.',
  }),
  idempotencyEntriesMax: integerOption({
    unit: 'entries',
    default: 1_000_000,
    min: 100,
    max: 100_000_000,
    description:
      'Outcomes kept at once; when full, keyed writes are answered 429, because dropping one early could let a retry write twice. Too low refuses keyed writes; too high costs disk space.',
  }),
  spaceAlarmPercent: integerOption({
    unit: 'percent',
    default: 80,
    min: 1,
    max: 100,
    description:
      'How full a volume of the data, or the log of a partition, may be before the status has an alarm. Too low and nobody looks any more; too high leaves no time to do something.',
  }),
  spaceRefusePercent: integerOption({
    unit: 'percent',
    default: 90,
    min: 1,
    max: 100,
    description:
      'From how full on writes are answered 507, except what deletes or releases something. Too low gives space away; too high and a burst fills the disk before the next look at it, once a second.',
  }),
  spaceReadOnlyPercent: integerOption({
    unit: 'percent',
    default: 95,
    min: 1,
    max: 100,
    description:
      'From how full on everything that writes is answered 507. Too low keeps clients from deleting; too high leaves no room for what a restart has to write.',
  }),
  jobWorkers: integerOption({
    unit: 'jobs',
    default: 4,
    min: 0,
    max: 64,
    description:
      'Background jobs worked on at once; with 0 they wait for another member or a later start. Too low lets long jobs hold up short ones; too high takes time from requests.',
  }),
  jobRetentionHours: integerOption({
    unit: 'hours',
    default: 24,
    min: 1,
    max: 8_760,
    description:
      'How long a finished background job is kept, a failed one seven times as long. Too low and nobody sees what became of it; too high fills the list of jobs.',
  }),
};

/**
 * Every option of a member, by section of the configuration file. A key of the file is the name here in
 * snake case. Sections that are known but have nothing to set in this version are empty.
 *
 * @see docs/configuration.md#configuration
 */
export const optionTable = Object.freeze({
  server: Object.freeze(server),
  cluster: Object.freeze(cluster),
  locks: Object.freeze(locks),
  email: Object.freeze({}),
  mcpClient: Object.freeze({}),
  functions: Object.freeze({}),
  limits: Object.freeze(limits),
});

type ValueOf<O> = O extends Option<infer Value> ? Value : never;

/** The configuration of a member: a value for every option, frozen, checked, with units in the names. */
export type Options = {
  readonly [Section in keyof typeof optionTable]: {
    readonly [Name in keyof (typeof optionTable)[Section]]: ValueOf<(typeof optionTable)[Section][Name]>;
  };
};

/** The bounds of a member. */
export type Limits = Options['limits'];

/** The least important log line that is still written. */
export type LogLevel = Options['server']['logLevel'];

/** What an answered write has survived. */
export type Durability = Options['cluster']['durability'];

/** One option with its place, for loading, help and documentation. */
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

/** Name of the environment variable that says which configuration file to read. */
export const configFileVariable = 'SVC_CONFIG';

/** The configuration file that is read when it exists and `SVC_CONFIG` names no other. */
export const defaultConfigFile = './svc.toml';

/** The sections of the configuration file, in order. */
export const fileSections: readonly string[] = Object.keys(optionTable).map(snakeCaseOf);

/** Every option with its place, in the order of the documentation. */
export const optionEntries: readonly OptionEntry[] = Object.entries(optionTable).flatMap(
  ([section, members]) =>
    Object.entries(members as Record<string, Option<unknown>>).map(([name, option]) =>
      Object.freeze({ section, name, fileSection: snakeCaseOf(section), fileKey: snakeCaseOf(name), option }),
    ),
);

/** The limits nobody has changed. */
export const defaultLimits: Limits = Object.freeze(
  Object.fromEntries(Object.entries(limits).map(([name, option]) => [name, option.defaultValue])),
) as Limits;

function snakeCaseOf(name: string): string {
  return name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}
