import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { branchActor } from '#actors/branch/branch-actor.ts';
import type { BranchCommand, NodeWritten } from '#actors/branch/messages.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import { HostFixture } from '#test/support/host-fixture.ts';

const workspace = 'content';

/** A command that goes on until the test ends it, giving the event loop back as every long one does. */
const hold = { type: 'Hold' } as const;

/** The branch of the product, which also knows {@link hold}. */
function holdingBranch(isHeld: () => boolean): ActorKind {
  const kind = branchActor({ commitNodesMax: 1_000 });
  return {
    ...kind,
    create(context) {
      const branch = kind.create(context);
      return {
        execute: (command: BranchCommand | typeof hold, turn) =>
          command.type === 'Hold' ? untilReleased(isHeld) : branch.execute(command as never, turn),
        query: (query: never, queryContext) => branch.query(query, queryContext),
        forget: () => branch.forget?.(),
      };
    },
  };
}

function* untilReleased(isHeld: () => boolean): Generator<undefined, string> {
  while (isHeld()) yield undefined;
  return 'released';
}

/** A log that keeps the appends of one actor back until it is told to let them through. */
class HeldLog implements Log {
  readonly #log: Log;
  readonly #isHeld: (actor: string) => boolean;
  readonly #waiting: (() => void)[] = [];

  constructor(log: Log, isHeld: (actor: string) => boolean) {
    this.#log = log;
    this.#isHeld = isHeld;
  }

  get lastSequence(): number {
    return this.#log.lastSequence;
  }

  get lastClock() {
    return this.#log.lastClock;
  }

  /** How many entries are kept back. */
  get waiting(): number {
    return this.#waiting.length;
  }

  async append(entry: LogEntry): Promise<number> {
    if (this.#isHeld(entry.actor)) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return await this.#log.append(entry);
  }

  release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  read(afterSequence: number) {
    return this.#log.read(afterSequence);
  }

  released(actor: string, sequence: number): void {
    this.#log.released(actor, sequence);
  }

  pending() {
    return this.#log.pending();
  }

  confirm(): Promise<void> | undefined {
    return this.#log.confirm();
  }

  flush() {
    return this.#log.flush();
  }

  close() {
    return this.#log.close();
  }
}

describe('two writers', () => {
  const held = actorId('default', 'one~1', 'main~1', 'branch');
  /** Another branch of the same repository, and one of another repository. */
  const others = [
    actorId('default', 'one~1', 'side~1', 'branch'),
    actorId('default', 'two~1', 'main~1', 'branch'),
  ];
  let fixture: HostFixture;
  let log: HeldLog;
  let commandHeld = false;
  let logHeld = false;

  beforeEach(async () => {
    const kinds = [repositoryActor, holdingBranch(() => commandHeld)];
    fixture = await HostFixture.open(kinds, (journal) => {
      log = new HeldLog(journal, (actor) => logHeld && actor === held);
      return log;
    });
    for (const repository of ['one', 'two']) {
      const actor = actorId('default', `${repository}~1`, 'repository');
      await fixture.host.create(actor);
      await fixture.command(actor, {
        type: 'InitializeRepository',
        repositoryId: repository,
        description: null,
        defaultBranch: 'main',
        defaultBranchUid: '1',
        defaultLanguage: 'en',
        supportedLanguages: ['en'],
      } as { type: string });
      const definition = { allowed_node_types: [], allowed_root_node_types: [] };
      await fixture.command(actor, { type: 'PutWorkspace', name: workspace, definition } as { type: string });
    }
    for (const branch of [held, ...others]) {
      await fixture.host.create(branch);
      await fixture.command(branch, { type: 'InstallBuiltIns' });
    }
  });

  afterEach(async () => {
    commandHeld = false;
    logHeld = false;
    log.release();
    await fixture.close();
  });

  const create = (branch: string, name: string): Promise<NodeWritten> => {
    const node = { name, nodeType: 'svc:Folder', properties: {} };
    const command: BranchCommand = { type: 'CreateNode', workspace, parentPath: '/', node, deep: false };
    return fixture.command<NodeWritten>(branch, command);
  };

  const isThere = (branch: string, name: string): boolean => {
    try {
      fixture.query(branch, { type: 'ReadNode', workspace, place: { path: `/${name}` } } as { type: string });
      return true;
    } catch {
      return false;
    }
  };

  /** What has been answered, in order. */
  function listen(answered: string[], what: string, answer: Promise<unknown>): Promise<unknown> {
    return answer.finally(() => answered.push(what));
  }

  it('to two branches go on while a long command of one of them runs [ROB-013]', async () => {
    await create(held, 'before');
    const answered: string[] = [];
    commandHeld = true;
    const long = listen(answered, 'long', fixture.command(held, hold));
    const queued = listen(answered, 'queued', create(held, 'queued'));
    for (const branch of others) {
      for (const name of ['a', 'b', 'c']) {
        const { revision } = await create(branch, name);
        expect([name, typeof revision, isThere(branch, name)]).toEqual([name, 'string', true]);
      }
    }
    // Its own writers wait, its readers do not.
    expect(answered).toEqual([]);
    expect([isThere(held, 'before'), isThere(held, 'queued')]).toEqual([true, false]);
    commandHeld = false;
    expect(await long).toBe('released');
    await queued;
    expect(answered).toEqual(['long', 'queued']);
    expect(isThere(held, 'queued')).toBe(true);
  });

  it('to two branches go on while a batch of one of them waits to become durable [ROB-013]', async () => {
    logHeld = true;
    const answered: string[] = [];
    const writes = ['a', 'b'].map((name) => listen(answered, name, create(held, name)));
    await expect.poll(() => log.waiting).toBe(1);
    for (const branch of others) {
      await Promise.all(['a', 'b', 'c'].map((name) => create(branch, name)));
      expect(isThere(branch, 'c')).toBe(true);
    }
    expect(answered).toEqual([]);
    expect(isThere(held, 'a')).toBe(false);
    logHeld = false;
    log.release();
    await Promise.all(writes);
    expect(isThere(held, 'b')).toBe(true);
  });
});
