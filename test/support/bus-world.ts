import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { BusItem, BusSubscription } from '#runtime/bus/ports.ts';
import type { BusObserver } from '#runtime/bus/receiver.ts';
import { type BranchEvent, isBranchEvent } from '#runtime/tree/branch-events.ts';
import { BRANCH, CONTENT, openTestBranch, type TestBranch } from './test-branch.ts';

/** Counts what a bus tells about itself. */
export class BusCounts implements BusObserver {
  items = 0;
  disconnections = 0;
  repairs = 0;
  resets = 0;

  delivered(receivers: number): void {
    this.items += receivers;
  }

  disconnected(): void {
    this.disconnections += 1;
  }

  repaired(events: number): void {
    this.repairs += events;
  }

  reset(): void {
    this.resets += 1;
  }
}

/** A real branch whose events go where a test wants them. */
export class BusWorld {
  /** Every event of the branch, in order. */
  readonly told: BranchEvent[] = [];
  /** Takes the events of every branch as they become durable. */
  sink: (branch: ActorId, events: readonly BranchEvent[]) => void = () => {};
  readonly #folder = mkdtempSync(join(tmpdir(), 'bus-'));
  #branch: TestBranch | undefined;
  #made = 0;

  static async open(): Promise<BusWorld> {
    const world = new BusWorld();
    world.#branch = await openTestBranch(world.#folder, {
      events: (actor, events) => {
        const happened = events.filter(isBranchEvent);
        if (actor === BRANCH) world.told.push(...happened);
        if (happened.length > 0) world.sink(actor, happened);
      },
    });
    return world;
  }

  get branch(): TestBranch {
    if (this.#branch === undefined) throw new Error('the world is closed');
    return this.#branch;
  }

  /** Writes one revision. @returns its number */
  async write(): Promise<string> {
    this.#made += 1;
    return (await this.branch.create(`/n${this.#made}`)).revision;
  }

  /** Writes some revisions one after the other. @returns their numbers */
  async writeMany(count: number): Promise<string[]> {
    const revisions: string[] = [];
    for (let index = 0; index < count; index++) revisions.push(await this.write());
    return revisions;
  }

  /** Writes one revision of many nodes. @returns its number */
  async writeLarge(nodes: number): Promise<string> {
    this.#made += 1;
    const operations = Array.from({ length: nodes }, (_, index) => ({
      type: 'create' as const,
      parentPath: '/',
      node: { name: `n${this.#made}-${index}`, nodeType: 'svc:Folder', properties: {} },
    }));
    const commit = { message: 'many' };
    const command = { type: 'CommitOperations', workspace: CONTENT, operations, commit } as const;
    return ((await this.branch.command(command)) as { revision: string }).revision;
  }

  async moveHead(revision: string): Promise<void> {
    await this.branch.command({ type: 'MoveHead', revision });
  }

  async head(): Promise<string> {
    return ((await this.branch.query({ type: 'ReadBranchState' })) as { head: string }).head;
  }

  async close(): Promise<void> {
    await this.#branch?.engine.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Takes items until one leads to a revision. */
export async function takeUntil(subscription: BusSubscription, revision: string): Promise<BusItem[]> {
  const items: BusItem[] = [];
  for (;;) {
    const { done, value } = await subscription.next();
    if (done === true) throw new Error(`ended before ${revision}`);
    items.push(value);
    if (value.event.revision === revision) return items;
  }
}

/** Takes a number of items. */
export async function take(subscription: BusSubscription, count: number): Promise<BusItem[]> {
  const items: BusItem[] = [];
  while (items.length < count) {
    const { done, value } = await subscription.next();
    if (done === true) throw new Error(`ended after ${items.length} items`);
    items.push(value);
  }
  return items;
}

/** The revisions items lead to. */
export function revisionsOf(items: readonly BusItem[]): string[] {
  return items.map(({ event }) => event.revision);
}
