import { assert } from '#runtime/base/assert.ts';

/** Default prefix of all names; with different prefixes several clusters of Grove share one account of NATS. */
const PREFIX_DEFAULT = 'grove';

const prefixShape = /^[a-z][a-z0-9-]{0,31}$/;

/** Digits of a partition number in names, so that they sort. */
const PARTITION_DIGITS = 3;

/** Every subject, stream and bucket of a cluster. No other code spells such a name. */
export class Subjects {
  readonly prefix: string;

  /** @param prefix lower-case letters, digits and `-` */
  constructor(prefix: string = PREFIX_DEFAULT) {
    assert(prefixShape.test(prefix), `'${prefix}' cannot begin the names in NATS`);
    this.prefix = prefix;
  }

  /** The stream that is the commit log of a partition. */
  logStream(partition: number): string {
    return `${this.prefix.toUpperCase()}_LOG_${number(partition)}`;
  }

  /** The only subject of that stream. */
  log(partition: number): string {
    return `${this.prefix}.log.${number(partition)}`;
  }

  /** The logs of all partitions. */
  get allLogs(): string {
    return `${this.prefix}.log.*`;
  }

  /** Subject on which a member receives calls for the partitions it owns. */
  calls(member: string): string {
    return `${this.prefix}.call.${token(member)}`;
  }

  /** Calls to all members. */
  get allCalls(): string {
    return `${this.prefix}.call.*`;
  }

  /** Subject of messages to one member: replies, cancellations. */
  member(member: string): string {
    return `${this.prefix}.member.${token(member)}`;
  }

  /** Messages to any one member. */
  get allMembers(): string {
    return `${this.prefix}.member.>`;
  }

  /** Prefix of the subjects on which a member receives replies; each request appends tokens of its own. */
  inbox(member: string): string {
    return `_INBOX.${token(member)}`;
  }

  /** The inboxes of all members. */
  get allInboxes(): string {
    return '_INBOX.>';
  }

  /** Heartbeats of members. */
  get heartbeats(): string {
    return `${this.prefix}.heartbeat`;
  }

  /** Requests to members for their positions in the logs. */
  get positions(): string {
    return `${this.prefix}.position`;
  }

  /**
   * Requests to members for their positions in the log of one partition, to open or to repair it. The subject has the word
   * that earlier builds listen to: members of both may run beside each other during an upgrade.
   */
  get replicaStatus(): string {
    return `${this.prefix}.standing`;
  }

  /** Reports of followers on the records of a partition's log that they have on disk. */
  flushes(partition: number): string {
    return `${this.prefix}.flushed.${number(partition)}`;
  }

  /** Reports of followers for all partitions. */
  get allFlushes(): string {
    return `${this.prefix}.flushed.*`;
  }

  /** Requests of owners for these reports, for all partitions. */
  get allFlushQuestions(): string {
    return `${this.prefix}.flush.*`;
  }

  /** Requests of the owner that followers repeat their report. */
  flushQuestions(partition: number): string {
    return `${this.prefix}.flush.${number(partition)}`;
  }

  /** Login attempts, and changes of identities. */
  get logins(): string {
    return `${this.prefix}.login`;
  }

  /** Changes of the branches of a partition. */
  events(partition: number): string {
    return `${this.prefix}.event.${number(partition)}`;
  }

  /** The changes of all partitions. */
  get allEvents(): string {
    return `${this.prefix}.event.*`;
  }

  /** The stream of job tickets. */
  get jobStream(): string {
    return `${this.prefix.toUpperCase()}_JOBS`;
  }

  /** The only subject of that stream. */
  get jobTickets(): string {
    return `${this.prefix}.job.ticket`;
  }

  /** Cancellations of jobs. */
  get cancelledJobs(): string {
    return `${this.prefix}.job.cancelled`;
  }

  /** The bucket of blobs. */
  get blobBucket(): string {
    return `${this.prefix}-blobs`;
  }

  /** The bucket of snapshots of shards. */
  get snapshotBucket(): string {
    return `${this.prefix}-snapshots`;
  }

  /** The stream with the index of snapshots. */
  get snapshotIndex(): string {
    return `${this.prefix.toUpperCase()}_SNAPSHOTS`;
  }

  /** The snapshots of a partition. */
  snapshots(partition: number): string {
    return `${this.prefix}.snapshot.${number(partition)}`;
  }

  /** The snapshots of all partitions. */
  get allSnapshots(): string {
    return `${this.prefix}.snapshot.*`;
  }

  /** Requests to members to take snapshots. */
  get snapshotRequests(): string {
    return `${this.prefix}.take-snapshot`;
  }

  /** Requests to members for the positions of the data on their disks. */
  get storedPositions(): string {
    return `${this.prefix}.stored-position`;
  }
}

function number(partition: number): string {
  assert(Number.isInteger(partition) && partition >= 0, `partition ${partition}`);
  return String(partition).padStart(PARTITION_DIGITS, '0');
}

/** Encodes a text as one token of a subject: characters with a meaning in subjects are written as their bytes. */
function token(text: string): string {
  assert(text.length > 0, 'an empty name cannot be a token of a subject');
  return encodeURIComponent(text).replace(/[.*]/g, (found) => `%${found.charCodeAt(0).toString(16)}`);
}
