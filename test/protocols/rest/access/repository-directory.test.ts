import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseRevision } from '#runtime/content/revision.ts';
import { FarMember } from '#test/support/far-member.ts';
import { callers } from '#test/support/host-fixture.ts';

let member: FarMember;

beforeEach(async () => {
  member = await FarMember.open();
});

afterEach(() => member.close());

const find = async (branch = 'main'): Promise<string> =>
  (await member.directory.branch('default', 'blog', branch, 'read')).actor;

const actorOf = (uid: string): unknown => expect.stringContaining(`default/blog~${uid}/main~`);

describe('RepositoryDirectory on a member that owns nothing', () => {
  it('asks no owner of a registry for a repository it has read of', async () => {
    const uid = await member.create();
    expect(await find()).toEqual(actorOf(uid));
    expect(member.asked).toContain('FindRepository');
    await member.follow();
    member.asked = [];
    expect(await find()).toEqual(actorOf(uid));
    expect((await member.directory.besideContent('default', 'blog', 'main')).actor).toEqual(actorOf(uid));
    expect(member.asked).toEqual(['FindBranch', 'FindBranch']);
  });

  it('finds the recreated repository, regardless of what it has read', async () => {
    const old = await member.create();
    await member.follow();
    await member.remove();
    await expect(find()).rejects.toMatchObject({ code: 'REPOSITORY_NOT_FOUND' });
    await expect(async () => member.directory.besideContent('default', 'blog', 'main')).rejects.toMatchObject(
      { code: 'REPOSITORY_NOT_FOUND' },
    );
    const uid = await member.create();
    expect(uid).not.toBe(old);
    expect(await find()).toEqual(actorOf(uid));
    await member.follow();
    expect(await find()).toEqual(actorOf(uid));
  });

  it('reports a missing branch without a second lookup', async () => {
    await member.create();
    await member.follow();
    await find();
    member.asked = [];
    await expect(find('draft')).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
    expect(member.asked).toEqual(['FindBranch', 'FindTag', 'FindRepository']);
  });

  it('asks the owner when it has nothing, and for a strict read', async () => {
    const uid = await member.create();
    await member.follow();
    const { source } = member;
    for (const nothing of ['changing', undefined] as const) {
      member.source = nothing;
      member.asked = [];
      expect(await find()).toEqual(actorOf(uid));
      expect(member.asked).toContain('FindRepository');
    }
    member.source = source;
    member.asked = [];
    await member.directory.branch('default', 'blog', 'main', 'read', { kind: 'strict' });
    expect(member.asked).toContain('FindRepository');
  });
});

describe('RepositoryDirectory, asked for a branch that may be a guess', () => {
  const likely = async (name = 'main', consistency?: { readonly kind: 'strict' | 'local' }) =>
    await member.directory.likelyBranch('default', 'blog', name, 'read', consistency);
  const likelyBeside = async (name = 'main') =>
    await member.directory.likelyBesideContent('default', 'blog', name);

  beforeEach(async () => {
    await member.create();
    await member.follow();
  });

  it('sends no query once the built-ins of the branch are known to exist', async () => {
    const known = await likely();
    expect([known.guess, member.asked.includes('FindBranch')]).toEqual([undefined, true]);
    member.asked = [];
    const { guess, ...guessed } = await likely();
    expect({ ...guessed, guess: undefined }).toEqual(known);
    const repository = known.repository.actor;
    expect(guess).toEqual({
      precondition: { actor: repository, query: { type: 'FindBranch', name: 'main' }, uid: known.uid },
      use: 'read',
    });
    expect((await likelyBeside()).guess).toMatchObject({ precondition: { uid: known.uid }, use: 'write' });
    expect(member.asked).toEqual([]);
  });

  it('asks the owner where that is this process or of an older version, and for reads that say how fresh', async () => {
    await likely();
    member.asked = [];
    expect((await likely('main', { kind: 'strict' })).guess).toBeUndefined();
    expect(member.asked).toContain('FindBranch');
    expect((await likely('main', { kind: 'local' })).guess).toBeUndefined();
    member.isConfirming = false;
    member.asked = [];
    expect([(await likely()).guess, (await likelyBeside()).guess]).toEqual([undefined, undefined]);
    expect(member.asked).toEqual(['FindBranch', 'FindBranch']);
  });

  it('asks the owner for a branch it has not read of, and for what a tag names', async () => {
    const dev = await member.fork('dev');
    expect(await likely('dev')).toMatchObject({ uid: dev.uid, guess: undefined });
    const { head } = member.owner.query<{ head: string }>((await likely()).actor, {
      type: 'ReadBranchState',
    });
    const tag = {
      name: 'v1',
      revision: parseRevision(head),
      createdBy: 'system',
      message: null,
      protected: false,
    };
    await member.branches.createTag(await member.found(), tag, { caller: callers.admin });
    await member.follow();
    expect((await likely('dev')).guess).toBeDefined();
    expect(await likely('v1')).toMatchObject({ name: 'v1', guess: undefined });
    await expect(likely('nothing')).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
  });
});
