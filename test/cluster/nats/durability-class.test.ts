import { describe, expect, it } from 'vitest';
import { decideDurability } from '#cluster/nats/durability-class.ts';
import { requireFitServers, type ServerFacts, serverWarnings } from '#cluster/nats/server-capabilities.ts';

const PAYLOAD = 1024 * 1024;

function servers(count: number, version: string, syncsAlways: boolean | undefined): ServerFacts[] {
  return Array.from({ length: count }, (_, index) => ({ name: `n${index + 1}`, version, syncsAlways }));
}

const proven = { servers: servers(3, '2.14.4', true), jetStreamServers: 3 };
const debian = { servers: servers(3, '2.9.10', false), jetStreamServers: 3 };
const unseen = { servers: servers(1, '2.14.4', undefined), jetStreamServers: undefined };

describe('the durability class of a cluster', () => {
  it('is quorum-disk where every server provably flushes before it answers', () => {
    expect(decideDurability(undefined, proven, 3).durability).toBe('quorum-disk');
    expect(decideDurability('quorum-disk', proven, 3).durability).toBe('quorum-disk');
  });

  it.each([
    ['old servers', debian],
    ['servers nobody looked at', unseen],
    ['new servers that do not flush', { servers: servers(3, '2.14.4', false), jetStreamServers: 3 }],
    ['servers of which one is not known', { servers: servers(2, '2.14.4', true), jetStreamServers: 3 }],
  ])('is replica-disk with %s when nothing is configured, with the reason', (_, facts) => {
    const { durability, reason } = decideDurability(undefined, facts, 3);
    expect(durability).toBe('replica-disk');
    expect(reason).toMatch(/NATS|nats-server/);
  });

  it('is never a weaker one than configured: it refuses, naming each server and what to do', () => {
    expect(() => decideDurability('quorum-disk', unseen, 3)).toThrow(/nats_monitor_urls/);
    try {
      decideDurability('quorum-disk', debian, 3);
      expect.unreachable();
    } catch (error) {
      const { problems } = error as { problems: string[] };
      expect(problems).toHaveLength(6);
      for (const name of ['n1', 'n2', 'n3'])
        expect(problems.filter((problem) => problem.includes(`nats-server ${name} `))).toHaveLength(2);
      expect(problems.join()).toContain('2.12.12 or 2.14.4');
    }
  });

  it.each(['quorum', 'replica-disk'] as const)('is %s when that is configured', (configured) => {
    expect(decideDurability(configured, debian, 3).durability).toBe(configured);
  });

  it('is not replica-disk where a server flushes less often than journals make up for', () => {
    const [first, ...others] = servers(3, '2.10.29', false) as [ServerFacts, ...ServerFacts[]];
    const with_ = (syncIntervalMs: number) => ({
      servers: [{ ...first, syncIntervalMs }, ...others],
      jetStreamServers: 3,
    });
    expect(decideDurability(undefined, with_(120_000), 3).durability).toBe('replica-disk');
    expect(serverWarnings(with_(120_000))).toEqual([]);
    for (const configured of [undefined, 'replica-disk'] as const)
      expect(() => decideDurability(configured, with_(900_000), 3)).toThrow(/n1 flushes every 900 s/);
    expect(decideDurability('quorum', with_(900_000), 3).durability).toBe('quorum');
    // A server that was started anew with another setting is seen in the status.
    expect(serverWarnings(with_(900_000)).join()).toMatch(/lower 'sync_interval'/);
  });

  it.each([1, 2])('refuses logs with %d replicas', (replicas) => {
    expect(() => decideDurability(undefined, proven, replicas)).toThrow(/replicas/);
    for (const configured of ['quorum', 'quorum-disk', 'replica-disk'] as const)
      expect(() => decideDurability(configured, proven, replicas)).toThrow(
        `durability is ${configured}, but [cluster] replicas is ${replicas}`,
      );
  });
});

describe('the servers of a cluster', () => {
  it('are refused when one is too old, when there are two, and when records do not fit', () => {
    expect(() => requireFitServers(debian, PAYLOAD)).not.toThrow();
    const old = {
      servers: [...servers(2, '2.9.10', false), { name: 'old', version: '2.9.9', syncsAlways: false }],
    };
    expect(() => requireFitServers({ ...old, jetStreamServers: 3 }, PAYLOAD)).toThrow(
      /old has version '2\.9\.9'/,
    );
    const two = { servers: servers(2, '2.14.4', true), jetStreamServers: 2 };
    expect(() => requireFitServers(two, PAYLOAD)).toThrow(/three or five/);
    expect(() => requireFitServers(proven, PAYLOAD - 1)).toThrow(/max_payload/);
  });

  it('cause warnings: about versions before 2.10.23, mixed versions and servers without monitoring', () => {
    expect(serverWarnings(proven)).toEqual([]);
    expect(serverWarnings(debian)).toEqual([expect.stringContaining('2.10.23')]);
    expect(serverWarnings(unseen)).toEqual([expect.stringContaining('nats_monitor_urls')]);
    const mixed = {
      servers: [...servers(2, '2.14.4', true), ...servers(1, '2.14.5', true)],
      jetStreamServers: 4,
    };
    expect(serverWarnings(mixed)).toEqual([
      expect.stringContaining('different versions'),
      expect.stringContaining('4 NATS servers run JetStream and 3 are known'),
    ]);
  });
});
