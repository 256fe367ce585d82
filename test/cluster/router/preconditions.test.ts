import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BranchEntry } from '#actors/repository/messages.ts';
import type { Call } from '#cluster/router/call-frames.ts';
import { PreconditionRefuted } from '#runtime/actor/precondition.ts';
import type { Caller, Precondition } from '#runtime/commit/behaviour.ts';
import { DatedAnswer } from '#runtime/content/dated-answer.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { FarMember } from '#test/support/far-member.ts';
import { callers } from '#test/support/host-fixture.ts';

let member: FarMember;
let repository: string;
let dev: BranchEntry;

beforeEach(async () => {
  member = await FarMember.open();
  await member.create();
  repository = (await member.found()).actor;
  dev = await member.fork('dev');
});

afterEach(() => member.close());

const actorOf = ({ name, uid }: BranchEntry): string =>
  repository.replace(/repository$/, `${name}~${uid}/branch`);

const preconditionOf = ({ name, uid }: BranchEntry): Precondition => ({
  actor: repository,
  query: { type: 'FindBranch', name },
  uid,
});

const callerWith = (precondition: Precondition): Caller => ({ ...callers.admin, precondition });

function call(
  kind: 'command' | 'query',
  branch: BranchEntry,
  message: unknown,
  precondition: Precondition,
): unknown {
  const sent: Call = {
    version: 2,
    kind,
    actor: actorOf(branch),
    message,
    principal: callers.admin.principal,
  };
  return member.ownerRouter.handle(sent, callerWith(precondition));
}

const state = { type: 'ReadBranchState' };

const write = (name: string) => ({
  type: 'PutDefinition',
  kind: 'node_type',
  definition: { name: `own:${name}` },
});

async function headOf(branch: BranchEntry): Promise<string> {
  return member.owner.query<{ readonly head: string }>(actorOf(branch), state).head;
}

/** Neither a query nor a command is carried out; nothing is written. */
async function expectRefuted(branch: BranchEntry, precondition = preconditionOf(branch)): Promise<void> {
  const exists = member.owner.host.exists(actorOf(branch));
  const before = exists ? await headOf(branch) : undefined;
  expect(() => call('query', branch, state, precondition)).toThrow(PreconditionRefuted);
  await expect(async () => call('command', branch, write('Late'), precondition)).rejects.toThrow(
    PreconditionRefuted,
  );
  if (exists) expect(await headOf(branch)).toBe(before);
}

describe('the owner of a message with a precondition', () => {
  it('executes it if the precondition holds, a query within the turn', async () => {
    expect(call('query', dev, state, preconditionOf(dev))).toEqual(
      expect.objectContaining({ head: await headOf(dev) }),
    );
    const read = { type: 'ReadAtHead', query: { type: 'ListDefinitions', kind: 'node_type' } };
    expect(call('query', dev, read, preconditionOf(dev))).toEqual(
      new DatedAnswer(await headOf(dev), expect.anything()),
    );
    await call('command', dev, write('Type'), preconditionOf(dev));
    const definition = { type: 'ReadDefinition', kind: 'node_type', name: 'own:Type' };
    expect(call('query', dev, definition, preconditionOf(dev))).toBeDefined();
  });

  it('refuses it for a removed branch, also if a new branch has its name', async () => {
    await member.removeBranch('dev');
    await expectRefuted(dev);
    const anew = await member.fork('dev');
    await expectRefuted(dev);
    expect(call('query', anew, state, preconditionOf(anew))).toBeDefined();
  });

  it('refuses it for a removed branch that a tag keeps, which is read without a precondition', async () => {
    await call('command', dev, write('Kept'), preconditionOf(dev));
    const revision = parseRevision(await headOf(dev));
    const tag = { name: 'v1', revision, createdBy: 'system', message: null, protected: false };
    await member.branches.createTag(await member.found(), tag, { caller: callers.admin });
    await member.removeBranch('dev');
    await member.fork('dev');
    expect(member.owner.host.exists(actorOf(dev))).toBe(true);
    await expectRefuted(dev);
    expect(member.owner.query(actorOf(dev), state)).toBeDefined();
  });

  it('refuses it for a repository that was removed or recreated, and for a branch that does not exist', async () => {
    await expectRefuted({ ...dev, name: 'nobody' });
    await expectRefuted({ ...dev, uid: 'other' });
    await member.remove();
    await expectRefuted(dev);
    await member.create();
    await expectRefuted(dev);
  });

  it('does not answer before the log has confirmed that it is the owner', async () => {
    for (const send of [
      () => call('query', dev, state, preconditionOf(dev)),
      () => call('command', dev, write('Sure'), preconditionOf(dev)),
    ]) {
      Object.assign(member.lease, { isValid: false, barriers: 0 });
      await send();
      expect(member.lease.barriers).toBe(1);
    }
    Object.assign(member.lease, { isValid: false, barriers: 0 });
    await member.ownerRouter.create(actorOf(dev).replace(/branch$/, 'locks'), preconditionOf(dev));
    expect(member.lease.barriers).toBe(1);
    await member.removeBranch('dev');
    for (const kind of ['query', 'command'] as const) {
      Object.assign(member.lease, { isValid: false, barriers: 0 });
      await expect(async () =>
        call(kind, dev, kind === 'query' ? state : write('Late'), preconditionOf(dev)),
      ).rejects.toThrow(PreconditionRefuted);
      expect(member.lease.barriers).toBe(1);
    }
  });

  it('verifies it also when it sends the message itself', async () => {
    const { ownerRouter } = member;
    expect(await ownerRouter.query(actorOf(dev), state, callerWith(preconditionOf(dev)))).toBeDefined();
    await member.removeBranch('dev');
    const delivery = { caller: callerWith(preconditionOf(dev)) };
    await expect(async () => ownerRouter.query(actorOf(dev), state, delivery.caller)).rejects.toThrow(
      PreconditionRefuted,
    );
    await expect(ownerRouter.command(actorOf(dev), write('Late'), delivery)).rejects.toThrow(
      PreconditionRefuted,
    );
  });
});
