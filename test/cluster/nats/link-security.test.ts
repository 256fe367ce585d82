import { describe, expect, it } from 'vitest';
import { linkRisks } from '#cluster/nats/link-security.ts';

const codes = (server: string, isAuthenticated: boolean, isEncrypted: boolean): string[] =>
  linkRisks({ server, isAuthenticated, isEncrypted }).map(({ code }) => code);

describe('how a connection to NATS is secured', () => {
  it('is reported for a server on another machine', () => {
    expect(codes('10.0.0.11:4222', true, true)).toEqual([]);
    expect(codes('10.0.0.11:4222', false, true)).toEqual(['nats-unauthenticated']);
    expect(codes('nats.example.org:4222', true, false)).toEqual(['nats-plaintext']);
    expect(codes('[fd00::1]:4222', false, false)).toEqual(['nats-unauthenticated', 'nats-plaintext']);
  });

  it('is not reported for a server on this machine', () => {
    for (const server of ['127.0.0.1:4222', '127.0.0.9:4222', 'localhost:4222', '[::1]:4222'])
      expect(codes(server, false, false)).toEqual([]);
  });

  it('is not treated as local because of a host name', () => {
    for (const server of ['127.example.org:4222', 'localhost.example.org:4222', '[::2]:4222'])
      expect(codes(server, false, false)).toHaveLength(2);
  });
});
