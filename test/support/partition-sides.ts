import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemoryStream } from './memory-stream.ts';
import { PartitionSide } from './partition-side.ts';

/** The sides of several members of one partition, in a folder that goes with {@link close}. */
export class PartitionSides {
  readonly root: string = mkdtempSync(join(tmpdir(), 'partition-sides-'));
  readonly stream = new MemoryStream();
  readonly #sides: PartitionSide[] = [];

  /** A member by its name, over what one of that name left. */
  side(name: string): PartitionSide {
    const made = new PartitionSide(this.root, this.stream, name);
    this.#sides.push(made);
    return made;
  }

  async close(): Promise<void> {
    for (const { member } of this.#sides) await member.leave();
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** Whether a member threw its shards away because of damage. */
export function hasRebuilt({ events }: PartitionSide): boolean {
  return events.some((event) => event.kind === 'shards-failed' && event.isDamaged);
}
