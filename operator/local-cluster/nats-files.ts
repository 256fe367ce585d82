import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { natsUsers } from '#cluster/nats/permissions.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { makeServerCertificates } from './certificates.ts';
import { natsConfigFor } from './nats-config.ts';
import { natsFiles, type NatsPasswords } from './plan.ts';

/** Mode of files that only their owner may read. */
const SECRET_MODE = 0o600;

/** Hosts of the certificates; all servers run on this machine. */
const HOSTS = ['127.0.0.1', 'localhost'];

/** Settings for the files. */
export interface NatsFilesSettings {
  readonly folder: string;
  /** As `nats-server --version` prints it. */
  readonly version: string;
  readonly passwords: NatsPasswords;
  /** `[cluster] name`; default: the default of the members. */
  readonly name?: string;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Writes the files of the NATS servers of a cluster on this machine: their configuration, the users of the members with
 * their permissions, and certificates. Every start creates a new authority and discards its key.
 */
export function writeNatsFiles({ clock, folder, name, passwords, random, version }: NatsFilesSettings): void {
  mkdirSync(join(folder, 'secrets'), { recursive: true, mode: 0o700 });
  const write = (file: string, text: string): void =>
    writeFileSync(join(folder, file), text, { mode: SECRET_MODE });
  const template = readFileSync(join(import.meta.dirname, 'nats.conf'), 'utf8');
  write(natsFiles.configuration, natsConfigFor(template, version));
  const users = Object.entries(passwords.members).map(([member, password]) => ({ member, password }));
  write(natsFiles.users, natsUsers(new Subjects(name), users));
  const { authority, server } = makeServerCertificates(HOSTS, clock.wallMs(), random);
  write(natsFiles.authority, authority);
  write(natsFiles.certificate, server.certificate);
  write(natsFiles.key, server.key);
}
