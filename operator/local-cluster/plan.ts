import { join } from 'node:path';

/** Number of processes of each replicated type: the fewest that tolerate the loss of one. */
const COUNT = 3;

/** Offsets of the other ports of a NATS server from its client port, the same as the defaults of NATS. */
const ROUTE_OFFSET = 2_000;
const MONITOR_OFFSET = 4_000;

/** All processes except the load balancer listen on this address only. */
const LOOPBACK = '127.0.0.1';

/** The types of processes, in the order of their start. */
export const processTypes = ['nats', 'member', 'balancer'] as const;

/** A type of process: its name in the Procfile. */
export type ProcessType = (typeof processTypes)[number];

/** Names of the members. */
export const memberNames: readonly string[] = each((index) => `member-${index + 1}`);

/** Passwords of the clients of the NATS servers. */
export interface NatsPasswords {
  /** By the name of the member. */
  readonly members: Readonly<Record<string, string>>;
  /** Between the servers. */
  readonly route: string;
  readonly system: string;
}

/** Files shared by the NATS servers, in the folder of the cluster. */
export const natsFiles = Object.freeze({
  configuration: 'nats.conf',
  users: 'users.conf',
  authority: 'secrets/nats-ca.pem',
  certificate: 'secrets/nats-cert.pem',
  key: 'secrets/nats-key.pem',
});

/** Settings of a cluster on this machine. */
export interface ClusterSettings {
  /** Folder of all its data; absolute. */
  readonly folder: string;
  /** Address the load balancer listens on. */
  readonly host: string;
  /** Port of the load balancer; the members use the next ports. */
  readonly port: number;
  /** Port of the first NATS server. */
  readonly natsPort: number;
  /** Shared by the members. */
  readonly secrets: { readonly jwtSecret: string; readonly masterKey: string };
  readonly natsPasswords: NatsPasswords;
  /** Password of the first administrator; undefined when the account exists. */
  readonly adminPassword: string | undefined;
  readonly programs: { readonly nats: string; readonly balancer: string };
  /** Configuration file of the members. */
  readonly memberConfig: string;
}

/** A port a process listens on. */
export interface PlannedPort {
  readonly host: string;
  readonly port: number;
  /** Option that changes it. */
  readonly option: '--port' | '--nats-port';
}

/** A process to start. */
export interface PlannedProcess {
  /** `member-1` */
  readonly name: string;
  readonly type: ProcessType;
  /** Address for its clients. */
  readonly url: string;
  /** The page that answers 200 when the process is ready. */
  readonly readyUrl: string;
  readonly ports: readonly PlannedPort[];
  readonly env: Readonly<Record<string, string>>;
  /** Files and folders with its data. */
  readonly folders: readonly string[];
}

/** Every process of the cluster, in the order of its start. */
export function planCluster(settings: ClusterSettings): readonly PlannedProcess[] {
  return [...natsServers(settings), ...members(settings), balancer(settings)];
}

/** Ports that two processes would share, each as a sentence. */
export function clashingPorts(processes: readonly PlannedProcess[]): readonly string[] {
  const holders = new Map<number, string>();
  return processes.flatMap(({ name, ports }) =>
    ports.flatMap(({ port }) => {
      const holder = holders.get(port);
      holders.set(port, name);
      return holder === undefined
        ? []
        : [
            `${holder} and ${name} would both have port ${port}; choose --port and --nats-port farther apart.`,
          ];
    }),
  );
}

/** Addresses of the monitoring pages of the NATS servers. */
export function natsMonitorUrls(natsPort: number): readonly string[] {
  return each((index) => `http://${LOOPBACK}:${natsPort + MONITOR_OFFSET + index}`);
}

/** The highest port the load balancer may have, so that the ports of the members are valid. */
export const portMax = 65_535 - COUNT;

/** The highest port the first NATS server may have, so that all ports derived from it are valid. */
export const natsPortMax = 65_535 - MONITOR_OFFSET - COUNT;

function each<T>(make: (index: number) => T): T[] {
  return Array.from({ length: COUNT }, (_, index) => make(index));
}

function natsServers({ folder, natsPasswords, natsPort, programs }: ClusterSettings): PlannedProcess[] {
  const monitors = natsMonitorUrls(natsPort);
  const routes = each((index) => [
    `NATS_ROUTE_${index + 1}`,
    `nats-route://route:${natsPasswords.route}@${LOOPBACK}:${natsPort + ROUTE_OFFSET + index}`,
  ]);
  return each((index) => {
    const port = natsPort + index;
    const ports = [port, port + ROUTE_OFFSET, port + MONITOR_OFFSET] as const;
    const store = join(folder, `nats-${index + 1}`);
    return {
      name: `nats-${index + 1}`,
      type: 'nats',
      url: `tls://${LOOPBACK}:${port}`,
      readyUrl: `${monitors[index]}/healthz`,
      ports: ports.map((each) => ({ host: LOOPBACK, port: each, option: '--nats-port' })),
      env: {
        NATS_SERVER_BIN: programs.nats,
        NATS_CONFIG: join(folder, natsFiles.configuration),
        NATS_NAME: `nats-${index + 1}`,
        NATS_HOST: LOOPBACK,
        NATS_PORT: String(ports[0]),
        NATS_ROUTE_PORT: String(ports[1]),
        NATS_MONITOR: `${LOOPBACK}:${ports[2]}`,
        NATS_STORE: store,
        NATS_CERT: join(folder, natsFiles.certificate),
        NATS_KEY: join(folder, natsFiles.key),
        NATS_CA: join(folder, natsFiles.authority),
        NATS_ROUTE_PASSWORD: natsPasswords.route,
        NATS_SYSTEM_PASSWORD: natsPasswords.system,
        ...(Object.fromEntries(routes) as Record<string, string>),
      },
      folders: [store],
    };
  });
}

function members(settings: ClusterSettings): PlannedProcess[] {
  const { adminPassword, folder, memberConfig, natsPasswords, natsPort, secrets } = settings;
  return memberNames.map((name, index) => {
    const login = `${name}:${natsPasswords.members[name]}`;
    const servers = each((server) => `tls://${login}@${LOOPBACK}:${natsPort + server}`);
    const port = memberPort(settings, index);
    return {
      name,
      type: 'member',
      url: `http://${LOOPBACK}:${port}`,
      readyUrl: `http://${LOOPBACK}:${port}/ready`,
      ports: [{ host: LOOPBACK, port, option: '--port' }],
      env: {
        PORT: String(port),
        SVC_HOST: LOOPBACK,
        SVC_DATA_DIR: join(folder, name),
        SVC_NATS_URL: servers.join(','),
        SVC_NATS_CA: join(folder, natsFiles.authority),
        SVC_MEMBER_ID: name,
        SVC_CONFIG: memberConfig,
        // The load balancer replaces forwarding headers of clients.
        SVC_TRUST_FORWARDED_HEADERS: 'true',
        JWT_SECRET: secrets.jwtSecret,
        SVC_MASTER_KEY: secrets.masterKey,
        ...(adminPassword === undefined ? {} : { SVC_ADMIN_PASSWORD: adminPassword }),
      },
      folders: [join(folder, name)],
    };
  });
}

function memberPort({ port }: ClusterSettings, index: number): number {
  return port + 1 + index;
}

function balancer(settings: ClusterSettings): PlannedProcess {
  const { host, port, programs } = settings;
  // The address for users of this machine, also when the balancer listens on all networks.
  const url = `http://${host === '0.0.0.0' ? LOOPBACK : host}:${port}`;
  const targets = each((index) => [`MEMBER_${index + 1}`, `${LOOPBACK}:${memberPort(settings, index)}`]);
  return {
    name: 'balancer',
    type: 'balancer',
    url,
    readyUrl: `${url}/ready`,
    ports: [{ host, port, option: '--port' }],
    env: {
      HAPROXY_BIN: programs.balancer,
      BALANCER_HOST: host,
      BALANCER_PORT: String(port),
      ...(Object.fromEntries(targets) as Record<string, string>),
    },
    folders: [],
  };
}
