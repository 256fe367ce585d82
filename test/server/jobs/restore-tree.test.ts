import { expect, it } from 'vitest';
import type { Delivery, Router } from '#runtime/actor/ports.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { RestoreTree } from '#server/jobs/restore-tree.ts';
import { callers } from '#test/support/host-fixture.ts';

const payload: JsonObject = {
  kind: 'restore-tree',
  branch: 'default/site~0123456789/main~1/branch',
  name: 'main',
  sql: "RESTORE TREE NODE path='/a' TO REVISION '1-0'",
  parameters: [],
  principal: { kind: 'system', tenant: 'default' },
  at: null,
  commit: null,
};

/** Runs a job whose command is answered by a function. */
async function run(id: string, answer: (delivery: Delivery) => unknown): Promise<unknown> {
  const router = {
    command: async (_actor: string, _command: unknown, delivery: Delivery) => answer(delivery),
  } as unknown as Router;
  const handler = new RestoreTree({ router, callers: { callerOf: async () => callers.admin } });
  const { signal } = new AbortController();
  return handler.run({ id, tenant: 'default', payload, signal, progress: () => undefined });
}

it('each attempt of a job sends its command under the same key, which no other job has', async () => {
  const sent: Delivery[] = [];
  const answer = (delivery: Delivery): unknown => {
    sent.push(delivery);
    return { revision: '2-0', columns: [], rows: '[]', rowCount: 0 };
  };
  for (const id of ['one', 'one', 'two'])
    expect(await run(id, answer)).toEqual({ revision: '2-0', rows: [] });
  const keys = sent.map(({ idempotency }) => idempotency?.key);
  expect(keys[0]).toEqual(expect.any(String));
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).not.toBe(keys[0]);
});

it('a branch that is gone is named', async () => {
  const gone = (): never => {
    throw new ServiceError('NOT_FOUND', 'no actor');
  };
  await expect(run('one', gone)).rejects.toMatchObject({
    code: 'BRANCH_NOT_FOUND',
    message: "Branch 'main' is not there any more",
  });
});
