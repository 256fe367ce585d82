import { describe, expect, it } from 'vitest';

import { errorCodes, errorRegistry } from '#runtime/errors/error-registry.ts';

describe.each(errorCodes)('error %s', (code) => {
  const entry = errorRegistry[code];

  it('has a name in capitals, which is the code on the wire', () => {
    expect(code).toMatch(/^[A-Z]+(?:_[A-Z]+)*$/);
  });

  it('has the HTTP status of an error', () => {
    expect(Number.isInteger(entry.status)).toBe(true);
    expect(entry.status).toBeGreaterThanOrEqual(400);
    expect(entry.status).toBeLessThan(600);
  });

  it('has an SQLSTATE of an error class: five digits or capitals, never success or warning', () => {
    expect(entry.sqlState).toMatch(/^[0-9A-Z]{5}$/);
    expect(entry.sqlState).not.toMatch(/^0[01]/);
  });

  it('has a JSON-RPC code of the reserved range', () => {
    expect(entry.jsonRpc).toBeGreaterThanOrEqual(-32_768);
    expect(entry.jsonRpc).toBeLessThanOrEqual(-32_000);
  });

  it('has an error name of OAuth', () => {
    const names = [
      'invalid_request',
      'invalid_client',
      'invalid_grant',
      'unauthorized_client',
      'access_denied',
      'server_error',
      'temporarily_unavailable',
    ];
    expect(names).toContain(entry.oauth);
  });

  it('has a close code a WebSocket server may send', () => {
    expect([1003, 1007, 1008, 1009, 1011, 1012, 1013]).toContain(entry.webSocketClose);
  });

  it('advises patience only where repeating can help', () => {
    // A caller's own mistake stays one: 4xx is repeated only for time, conflict and rate.
    if (entry.advice === 'give-up') return expect(entry.status).not.toBe(503);
    expect(entry.status >= 500 || [408, 409, 429].includes(entry.status)).toBe(true);
  });

  it('hides its message exactly for internal errors', () => {
    expect(entry.isPublic).toBe(entry.status !== 500);
  });

  it('describes in a sentence what happened', () => {
    expect(entry.title).toMatch(/^[A-Z].{8,}\.$/);
    expect(entry.title).not.toContain('\n');
  });

  it('cannot be changed', () => {
    expect(Object.isFrozen(entry)).toBe(true);
  });
});

describe('the registry', () => {
  it('is frozen and lists each code once', () => {
    expect(Object.isFrozen(errorRegistry)).toBe(true);
    expect(Object.keys(errorRegistry)).toEqual(errorCodes);
    expect(new Set(errorCodes).size).toBe(errorCodes.length);
  });
});
