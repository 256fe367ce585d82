import type { Revision } from '#runtime/content/revision.ts';
import { decodeEntry } from '#runtime/log/entry-codec.ts';
import type { LogEntry, Write } from '#runtime/log/log-entry.ts';

/** A large, encoded batch. Its writes are decoded on demand; logs on disk do not need them. */
export class EncodedEntry implements LogEntry {
  readonly actor: string;
  readonly clock: Revision;
  readonly encoded: Buffer;

  constructor(actor: string, clock: Revision, encoded: Buffer) {
    this.actor = actor;
    this.clock = clock;
    this.encoded = encoded;
  }

  get writes(): readonly Write[] {
    return decodeEntry(this.encoded, 0).entry.writes;
  }
}
