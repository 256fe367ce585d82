import type { Revision } from '#runtime/content/revision.ts';
import { decodeEntry } from '#runtime/log/entry-codec.ts';
import type { LogEntry, Write } from '#runtime/log/log-entry.ts';

/** A large batch, encoded. Its writes are decoded for whoever asks for them, which logs on a disk do not. */
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
