import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { ActorBehaviour, ActorContext, ActorKind, Turn } from '#runtime/commit/behaviour.ts';
import { DeferredReply } from '#runtime/commit/deferred-reply.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { Engine, engineUser as caller } from '#test/support/engine.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

type Command = 'Wait' | 'Answer' | 'Count';

/** An actor that counts by itself while it is told to stay open, and whose first command waits for the second. */
class Acting implements ActorBehaviour {
  static newest: Acting | undefined;
  readonly context: ActorContext;
  mustStayOpen = false;
  count = 0;
  closed = 0;
  #owed: DeferredReply | undefined;

  constructor(context: ActorContext) {
    this.context = context;
    Acting.newest = this;
  }

  execute(command: Command, turn: Turn): unknown {
    if (command === 'Count') {
      this.count += 1;
      return undefined;
    }
    if (command === 'Answer') return this.#owed?.answer(turn, 'answered');
    this.#owed = new DeferredReply();
    return this.#owed;
  }

  query(): unknown {
    return this.count;
  }

  endWaits(reason: ServiceError): void {
    this.#owed?.fail(reason);
  }

  close(): void {
    this.closed += 1;
  }
}

const kind: ActorKind = { kind: 'acting', tables: [], create: (context) => new Acting(context) };
const actor = actorId('acme', 'one', 'acting');
const idleCloseMs = 1000;

let folder: string;
let clock: TestClock;
let engine: Engine;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'acting-'));
  clock = new TestClock();
  engine = await Engine.open(folder, { clock, kinds: [kind], limits: { idleCloseMs } });
  await engine.host.create(actor);
});

afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

function send(command: Command): Promise<unknown> {
  return engine.host.command(actor, command, { caller });
}

function acting(): Acting {
  if (Acting.newest === undefined) throw new Error('nothing was opened');
  return Acting.newest;
}

async function untilClosed(behaviour: Acting): Promise<void> {
  for (let round = 0; behaviour.closed === 0; round += 1) {
    if (round > 5000) throw new Error('it was never closed');
    clock.advance(idleCloseMs);
    await settle(2);
  }
}

it('sends itself commands as the engine, and is refused once it is closed', async () => {
  await send('Count');
  const behaviour = acting();
  await behaviour.context.submit('Count');
  expect(behaviour.count).toBe(2);
  await untilClosed(behaviour);
  await expect(behaviour.context.submit('Count')).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
});

it('stays open for as long as it must, and is notified once when it is closed', async () => {
  await send('Count');
  const behaviour = acting();
  behaviour.mustStayOpen = true;
  for (let round = 0; round < 50; round += 1) {
    clock.advance(idleCloseMs);
    await settle(2);
  }
  expect(behaviour.closed).toBe(0);
  behaviour.mustStayOpen = false;
  await untilClosed(behaviour);
  expect(behaviour.closed).toBe(1);
  expect(engine.host.query(actor, 'Read', caller)).toBe(0);
});

it('knows since when its process serves, however often it is opened', async () => {
  await send('Count');
  const first = acting();
  const { servingSinceMs } = first.context;
  expect(servingSinceMs).toBeLessThanOrEqual(clock.monotonicMs());
  await untilClosed(first);
  await send('Count');
  expect(acting()).not.toBe(first);
  expect(acting().context.servingSinceMs).toBe(servingSinceMs);
});

it('answers a command with a later one', async () => {
  const waiting = send('Wait');
  await settle();
  await send('Answer');
  expect(await waiting).toBe('answered');
});

it.each([
  ['SHUTTING_DOWN', () => Promise.resolve(engine.host.endWaits())],
  ['SHUTTING_DOWN', () => engine.host.close()],
  ['NOT_FOUND', () => engine.host.destroyUnder('acme/one')],
  ['NOT_FOUND', () => engine.host.destroyUnder(actor)],
])('rejects waiting callers with %s when it ends', async (code, end) => {
  const refused = expect(send('Wait')).rejects.toMatchObject({ code });
  await settle();
  await end();
  await refused;
});

it('is removed alone, and can be made again', async () => {
  await send('Count');
  const other = actorId('acme', 'two', 'acting');
  await engine.host.create(other);
  await engine.host.destroyUnder(actor);
  expect([engine.host.exists(actor), engine.host.exists(other)]).toEqual([false, true]);
  await engine.host.create(actor);
  await send('Count');
  expect(acting().count).toBe(1);
});
