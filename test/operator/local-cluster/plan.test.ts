import { describe, expect, it } from 'vitest';
import { loadOptions } from '#runtime/config/load-options.ts';
import {
  clashingPorts,
  type ClusterSettings,
  natsMonitorUrls,
  planCluster,
} from '#operator/local-cluster/plan.ts';

const settings: ClusterSettings = {
  folder: '/srv/grove',
  host: '127.0.0.1',
  port: 8080,
  natsPort: 4222,
  secrets: { jwtSecret: 'a signing key of more than 32 bytes', masterKey: '0123456789abcdef'.repeat(4) },
  natsPasswords: {
    members: { 'member-1': 'p1', 'member-2': 'p2', 'member-3': 'p3' },
    route: 'proute',
    system: 'psystem',
  },
  adminPassword: 'Correct-Horse-9-Battery',
  programs: { nats: '/usr/sbin/nats-server', balancer: '/usr/sbin/haproxy' },
  memberConfig: '/srv/grove/member.toml',
};

const plan = planCluster(settings);
const ofType = (type: string) => plan.filter((each) => each.type === type);

describe('the plan of a cluster', () => {
  it('has three NATS servers, three members and a load balancer, in the order of their start', () => {
    expect(plan.map(({ name }) => name)).toEqual([
      ...['nats-1', 'nats-2', 'nats-3', 'member-1', 'member-2', 'member-3', 'balancer'],
    ]);
  });

  it('gives every process ports and folders of its own', () => {
    const ports = plan.flatMap((each) => each.ports.map(({ port }) => port));
    expect(new Set(ports).size).toBe(ports.length);
    expect(clashingPorts(plan)).toEqual([]);
    const folders = plan.flatMap((each) => each.folders);
    expect(new Set(folders).size).toBe(6);
  });

  it('reports ports that two processes would use', () => {
    const clashing = planCluster({ ...settings, port: 8225, natsPort: 4224 });
    expect(clashingPorts(clashing)).toEqual([
      expect.stringContaining('nats-3 and member-1 would both have port 8226'),
      expect.stringContaining('nats-2 and balancer would both have port 8225'),
    ]);
  });

  it('gives the members an environment that is a valid configuration of a cluster, with shared keys', () => {
    const options = ofType('member').map(({ env }) =>
      loadOptions(env, () => `[cluster]\nnats_monitor_urls = ${JSON.stringify(natsMonitorUrls(4222))}\n`),
    );
    expect(options.map(({ server }) => server.memberId)).toEqual(['member-1', 'member-2', 'member-3']);
    expect(options.map(({ server }) => server.port)).toEqual([8081, 8082, 8083]);
    for (const [index, { cluster, server }] of options.entries()) {
      // Each by a name and password of its own, and over TLS.
      const login = `tls://member-${index + 1}:p${index + 1}@`;
      expect(server.natsUrl).toEqual(ofType('nats').map(({ url }) => url.replace('tls://', login)));
      expect(server.natsCa).toBe('/srv/grove/secrets/nats-ca.pem');
      expect([server.jwtSecret?.reveal(), server.masterKey?.reveal()]).toEqual(
        Object.values(settings.secrets),
      );
      expect(cluster.natsMonitorUrls).toHaveLength(3);
    }
  });

  it('gives no password away once there is an administrator', () => {
    const later = planCluster({ ...settings, adminPassword: undefined });
    for (const { env } of later) expect(env).not.toHaveProperty('SVC_ADMIN_PASSWORD');
  });

  it('names an address a person can open, also where the load balancer listens to all networks', () => {
    const open = planCluster({ ...settings, host: '0.0.0.0' }).at(-1);
    expect([open?.url, open?.env.BALANCER_HOST]).toEqual(['http://127.0.0.1:8080', '0.0.0.0']);
  });
});
