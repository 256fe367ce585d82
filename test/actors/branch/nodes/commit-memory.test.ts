import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { branchActor } from '#actors/branch/branch-actor.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import type { ActorBehaviour, ActorKind, Turn } from '#runtime/commit/behaviour.ts';
import { Engine } from '#test/support/engine.ts';
import { TestBranch } from '#test/support/test-branch.ts';
import { settle } from '#test/support/test-clock.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const turns: WeakRef<Turn>[] = [];

/** A branch that notes the turns of its commands. */
const kind = branchActor({ commitNodesMax: 1_000 });
const watched: ActorKind = {
  ...kind,
  create(context) {
    const behaviour = kind.create(context) as ActorBehaviour;
    const { execute } = behaviour;
    behaviour.execute = (command, turn) => {
      turns.push(new WeakRef(turn));
      return execute.call(behaviour, command, turn);
    };
    return behaviour;
  },
};

it('a branch holds nothing of a command that is over, whose turn has all that it wrote', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'commit-memory-'));
  const engine = await Engine.open(folder, { kinds: [repositoryActor, watched] });
  try {
    const branch = await new TestBranch(engine).prepare();
    await branch.create('/a', { title: 'a' });
    await settle();
    expect(turns.length).toBeGreaterThan(0);
    collectGarbage();
    expect(turns.filter((turn) => turn.deref() !== undefined)).toEqual([]);
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true });
  }
});
