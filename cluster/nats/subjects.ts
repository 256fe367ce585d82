import { assert } from '#runtime/base/assert.ts';

/** Names begin with this; another one lets several clusters of Grove share one account of NATS. */
const PREFIX_DEFAULT = 'grove';

const prefixShape = /^[a-z][a-z0-9-]{0,31}$/;

/** Digits of a partition in names, so that they sort. */
const PARTITION_DIGITS = 3;

/** Every subject, stream and bucket of a cluster. Nothing else of the product spells one. */
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

  /** The one subject of that stream. */
  log(partition: number): string {
    return `${this.prefix}.log.${number(partition)}`;
  }

  /** The logs of all partitions. */
  get allLogs(): string {
    return `${this.prefix}.log.*`;
  }

  /** Where a member takes calls for the partitions it owns. */
  calls(member: string): string {
    return `${this.prefix}.call.${token(member)}`;
  }

  /** Calls to all members. */
  get allCalls(): string {
    return `${this.prefix}.call.*`;
  }

  /** What is meant for one member alone: answers, cancellations. */
  member(member: string): string {
    return `${this.prefix}.member.${token(member)}`;
  }

  /** What is meant for any one member alone. */
  get allMembers(): string {
    return `${this.prefix}.member.>`;
  }

  /** Where a member is answered, followed by tokens of its own: a subject for each question. */
  inbox(member: string): string {
    return `_INBOX.${token(member)}`;
  }

  /** Where all members are answered. */
  get allInboxes(): string {
    return '_INBOX.>';
  }

  /** Where members tell that they live. */
  get heartbeats(): string {
    return `${this.prefix}.heartbeat`;
  }

  /** Where members are asked how far they are in the logs. */
  get positions(): string {
    return `${this.prefix}.position`;
  }

  /** Where members are asked where they stand in the log of one partition, to open it or to make it whole. */
  get standings(): string {
    return `${this.prefix}.standing`;
  }

  /** Where followers tell what they have of a partition's log on their disks. */
  flushes(partition: number): string {
    return `${this.prefix}.flushed.${number(partition)}`;
  }

  /** What followers tell of all partitions. */
  get allFlushes(): string {
    return `${this.prefix}.flushed.*`;
  }

  /** Where owners of all partitions ask. */
  get allFlushQuestions(): string {
    return `${this.prefix}.flush.*`;
  }

  /** Where the owner asks them to tell it again. */
  flushQuestions(partition: number): string {
    return `${this.prefix}.flush.${number(partition)}`;
  }

  /** Where attempts to log in are told. */
  get logins(): string {
    return `${this.prefix}.login`;
  }

  /** Where the changes of a partition's branches are told. */
  events(partition: number): string {
    return `${this.prefix}.event.${number(partition)}`;
  }

  /** The changes of all partitions. */
  get allEvents(): string {
    return `${this.prefix}.event.*`;
  }

  /** The stream of what says that there are jobs to be done. */
  get jobStream(): string {
    return `${this.prefix.toUpperCase()}_JOBS`;
  }

  /** The one subject of that stream. */
  get jobTickets(): string {
    return `${this.prefix}.job.ticket`;
  }

  /** Where cancelled jobs are told. */
  get cancelledJobs(): string {
    return `${this.prefix}.job.cancelled`;
  }

  /** The bucket of bytes by their hash. */
  get blobBucket(): string {
    return `${this.prefix}-blobs`;
  }

  /** The bucket of snapshots of shards. */
  get snapshotBucket(): string {
    return `${this.prefix}-snapshots`;
  }

  /** The stream that says which snapshots there are. */
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

  /** Where members are asked to take snapshots. */
  get snapshotRequests(): string {
    return `${this.prefix}.take-snapshot`;
  }

  /** Where members are asked how far what they have on their disks reaches. */
  get storedPositions(): string {
    return `${this.prefix}.stored-position`;
  }
}

function number(partition: number): string {
  assert(Number.isInteger(partition) && partition >= 0, `partition ${partition}`);
  return String(partition).padStart(PARTITION_DIGITS, '0');
}

/** Anything as one token of a subject: what means something there is written as its bytes. */
function token(text: string): string {
  assert(text.length > 0, 'an empty name cannot be a token of a subject');
  return encodeURIComponent(text).replace(/[.*]/g, (found) => `%${found.charCodeAt(0).toString(16)}`);
}
