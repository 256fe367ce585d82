import { writeSync } from 'node:fs';
import { identitiesActor } from '#actors/identities/identities-actor.ts';
import type {
  IdentitiesCommand,
  OpenedSession,
  RefreshOutcome,
  Registered,
} from '#actors/identities/messages.ts';
import { holdProcess } from '#runtime/base/process/hold-process.ts';
import { armCrashPointFromText } from '#runtime/commit/crash-point.ts';
import { Engine, engineUser } from './engine.ts';

/*
 * A process that runs the identities of a tenant over a folder until it is killed, or dies at the crash point
 * `SVC_CRASH_POINT` names: `identities-child.ts <folder> <round>`. On standard output, one line for each answer:
 *
 *   ok refresh <session> <generation>    the newest token of a session
 *   ok revoke <session>                  it has ended
 *   ok password <email> <hash>           the present one
 *   ok failed <email> <count>            wrong passwords so far
 *
 * Every line is said at once, and what is being sent before it as `try …` in the same form.
 */
const [folder = '', round = '0'] = process.argv.slice(2);
const ACTOR = 'acme/identities';
const PEOPLE = 4;

holdProcess();
armCrashPointFromText(process.env.SVC_CRASH_POINT);
const engine = await Engine.open(folder, {
  kinds: [identitiesActor],
  segmentBytes: 64 * 1024,
  limits: { apply: { applyBytes: 20_000, applyDelayMs: 5 } },
});
await engine.host.create(ACTOR);

function say(line: string): void {
  writeSync(1, `${line}\n`);
}

async function send<Result>(command: IdentitiesCommand): Promise<Result> {
  return (await engine.host.command(ACTOR, command, { caller: engineUser })) as Result;
}

async function told<Result>(what: string, command: IdentitiesCommand): Promise<Result> {
  say(`try ${what}`);
  const result = await send<Result>(command);
  say(`ok ${what}`);
  return result;
}

async function liveOn(person: number): Promise<never> {
  const email = `r${round}p${person}@example.org`;
  const place = 'place-of-the-person';
  let number = 0;
  let hash = `${email}-0`;
  const { identity } = await told<Registered>(`password ${email} ${hash}`, {
    type: 'RegisterIdentity',
    email,
    passwordHash: hash,
  });
  const { identity_id: identityId } = identity;
  for (;;) {
    number += 1;
    const sessionId = `r${round}p${person}s${number}`;
    const session = { sessionId, family: 'f', tokenHash: '1', rememberMe: false, repository: null, place };
    await send<OpenedSession>({
      type: 'OpenSession',
      proof: { kind: 'password', email, judged: hash },
      session: { ...session, userAgent: null, ipAddress: null },
    });
    for (let generation = 1; generation < 6; generation += 1)
      await told<RefreshOutcome>(`refresh ${sessionId} ${generation + 1}`, {
        type: 'RefreshSession',
        identityId,
        sessionId,
        family: 'f',
        generation,
        tokenHash: `${generation}`,
        nextTokenHash: `${generation + 1}`,
      });
    await told(`revoke ${sessionId}`, { type: 'RevokeSession', identityId, sessionId, reason: 'logged_out' });
    const passwordHash = `${email}-${number}`;
    await told(`password ${email} ${passwordHash}`, {
      type: 'SetPassword',
      identityId,
      judged: hash,
      passwordHash,
    });
    hash = passwordHash;
    const guessed = `guessed-${email}-${number}`.replaceAll('@', '-at-');
    for (let count = 1; count <= 5; count += 1)
      await told(`failed ${guessed}@example.org ${count}`, {
        type: 'CountFailedLogin',
        email: `${guessed}@example.org`,
        place,
        judged: null,
      });
  }
}

await Promise.all(Array.from({ length: PEOPLE }, (_, person) => liveOn(person)));
