import { beforeEach, expect, it } from 'vitest';
import { LOGIN_STATE_MS, type LoginState, LoginStates } from '#protocols/identity/oidc/login-state.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { SecretBox } from '#runtime/config/secret-box.ts';
import { TestClock } from '#test/support/test-clock.ts';

const key = systemRandom.bytes(32).slice();
const told = {
  tenant: 'default',
  providerId: 'acme',
  settings: 'settings',
  repository: 'site',
  landing: '/app',
  verifier: 'verifier',
  nonce: 'nonce',
};

let clock: TestClock;
let states: LoginStates;

beforeEach(() => {
  clock = new TestClock();
  states = new LoginStates(new SecretBox(key), clock);
});

it('says what the login was started with, and nothing of it to anybody else [OIDC-003]', () => {
  const sealed = states.seal(told);
  expect(states.open(sealed)).toEqual({ ...told, expiresMs: clock.wallMs() + LOGIN_STATE_MS });
  const bytes = Buffer.from(sealed.slice(sealed.indexOf('.') + 1), 'base64url').toString('latin1');
  for (const value of Object.values(told)) expect(bytes).not.toContain(value);
});

it('is good for ten minutes [OIDC-003]', () => {
  expect(LOGIN_STATE_MS).toBe(600_000);
  const sealed = states.seal(told);
  clock.advance(599_999);
  expect(states.open(sealed)).toBeDefined();
  clock.advance(1);
  expect(states.open(sealed)).toBeUndefined();
});

it('is opened by a member that has never heard of it, with the same master key only [OIDC-003]', () => {
  const sealed = states.seal(told);
  expect(new LoginStates(new SecretBox(key), clock).open(sealed)).toMatchObject(told);
  expect(new LoginStates(new SecretBox(systemRandom.bytes(32)), clock).open(sealed)).toBeUndefined();
});

it('is no other sealed text', () => {
  const box = new SecretBox(key);
  for (const purpose of ['oidc client secret\ndefault\nacme', 'login state'])
    expect(states.open(box.seal(purpose, JSON.stringify(told)))).toBeUndefined();
  for (const text of ['', 'v1.', 'state', '{}']) expect(states.open(text)).toBeUndefined();
});

it('is used once', () => {
  const state = states.open(states.seal(told)) as LoginState;
  expect(states.use(state)).toBe(true);
  expect(states.use(state)).toBe(false);
  expect(states.use({ ...state, nonce: 'another' })).toBe(true);
});

it('is remembered among the last twenty thousand', () => {
  const state = states.open(states.seal(told)) as LoginState;
  states.use(state);
  for (let count = 0; count < 19_999; count += 1) states.use({ ...state, nonce: `nonce-${count}` });
  expect(states.use(state)).toBe(false);
  states.use({ ...state, nonce: 'one more' });
  expect(states.use(state)).toBe(true);
});
