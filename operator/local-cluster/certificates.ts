import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';
import type { Random } from '#runtime/base/random.ts';

/**
 * X.509 certificates (RFC 5280) for the servers of a cluster on one machine: an authority, whose key is discarded after
 * use, and the certificates it signed. They use ECDSA over P-256 with SHA-256, which every TLS library of the last
 * decade supports. Only the needed part of DER (X.690) is encoded; certificates are not parsed.
 */

/** Validity of the certificates, in milliseconds: ten years. Every start of the cluster creates new ones. */
const VALID_MS = 10 * 365 * 86_400_000;

/** How far in the past the validity begins, in milliseconds, because clocks differ. */
const EARLY_MS = 86_400_000;

/** Bytes of a serial number; RFC 5280 allows 20. */
const SERIAL_BYTES = 16;

const OID = {
  ecdsaWithSha256: '06082a8648ce3d040302',
  commonName: '0603550403',
  subjectKeyId: '0603551d0e',
  keyUsage: '0603551d0f',
  subjectAltName: '0603551d11',
  basicConstraints: '0603551d13',
  authorityKeyId: '0603551d23',
  extendedKeyUsage: '0603551d25',
  serverAuth: '06082b06010505070301',
  clientAuth: '06082b06010505070302',
} as const;

/** ASN.1 tags. */
const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  utf8: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** A certificate with its key, as PEM. */
export interface CertificatePair {
  readonly certificate: string;
  readonly key: string;
}

/** An authority and the certificate it signed. */
export interface ServerCertificates {
  /** Certificate of the authority; its key is not kept. */
  readonly authority: string;
  /** For the servers, which present it to clients, and to each other in both directions. */
  readonly server: CertificatePair;
}

/**
 * Makes an authority and a server certificate signed by it.
 *
 * @param hosts names and IPv4 addresses of the servers
 * @param nowMs milliseconds since the Unix epoch
 */
export function makeServerCertificates(
  hosts: readonly string[],
  nowMs: number,
  random: Random,
): ServerCertificates {
  const authority = newKeys();
  const server = newKeys();
  const validity = { fromMs: nowMs - EARLY_MS, untilMs: nowMs + VALID_MS };
  const issuer = { name: 'Grove local authority', publicKey: authority.publicKey, key: authority.privateKey };
  const make = (subject: string, publicKey: KeyObject, extensions: readonly Buffer[]): string =>
    pem('CERTIFICATE', signed({ subject, publicKey, issuer, validity, extensions }, random));
  return {
    authority: make(issuer.name, authority.publicKey, [
      // Path length 0: the authority may sign server certificates, but no further authorities.
      extension(OID.basicConstraints, sequence(der(TAG.boolean, [0xff]), integer([0])), true),
      // keyCertSign
      extension(OID.keyUsage, der(TAG.bitString, [2, 0x04]), true),
    ]),
    server: {
      certificate: make('Grove local server', server.publicKey, [
        extension(OID.basicConstraints, sequence(), true),
        // digitalSignature
        extension(OID.keyUsage, der(TAG.bitString, [7, 0x80]), true),
        extension(OID.extendedKeyUsage, sequence(hex(OID.serverAuth), hex(OID.clientAuth))),
        extension(OID.subjectAltName, sequence(...hosts.map(generalName))),
      ]),
      key: server.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    },
  };
}

/** Converted through PEM, so that the type is the one `sign` accepts. */
function newKeys(): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return { publicKey, privateKey: createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' })) };
}

interface CertificateFields {
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly issuer: { readonly name: string; readonly publicKey: KeyObject; readonly key: KeyObject };
  readonly validity: { readonly fromMs: number; readonly untilMs: number };
  readonly extensions: readonly Buffer[];
}

function signed(fields: CertificateFields, random: Random): Buffer {
  const { extensions, issuer, publicKey, subject, validity } = fields;
  const algorithm = sequence(hex(OID.ecdsaWithSha256));
  // Positive, and without a leading zero byte.
  const serial = Buffer.from(random.bytes(SERIAL_BYTES));
  serial[0] = ((serial[0] as number) & 0x7f) | 0x40;
  const all = [
    ...extensions,
    extension(OID.subjectKeyId, der(TAG.octetString, keyId(publicKey))),
    // [0] keyIdentifier
    extension(OID.authorityKeyId, sequence(der(0x80, keyId(issuer.publicKey)))),
  ];
  const toSign = sequence(
    // [0] version 3
    der(0xa0, integer([2])),
    integer(serial),
    algorithm,
    distinguishedName(issuer.name),
    sequence(time(validity.fromMs), time(validity.untilMs)),
    distinguishedName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    // [3] extensions
    der(0xa3, sequence(...all)),
  );
  const signature = sign('sha256', toSign, issuer.key);
  return sequence(toSign, algorithm, der(TAG.bitString, Buffer.concat([Buffer.of(0), signature])));
}

/** Key identifier by RFC 7093, method 1: the first 160 bits of the SHA-256 of the key. */
function keyId(key: KeyObject): Buffer {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20);
}

function extension(id: string, value: Buffer, isCritical = false): Buffer {
  const critical = isCritical ? [der(TAG.boolean, [0xff])] : [];
  return sequence(hex(id), ...critical, der(TAG.octetString, value));
}

/** A GeneralName: [7] iPAddress, or [2] dNSName. */
function generalName(host: string): Buffer {
  return isIPv4(host) ? der(0x87, host.split('.').map(Number)) : der(0x82, Buffer.from(host, 'latin1'));
}

function distinguishedName(commonName: string): Buffer {
  return sequence(der(TAG.set, sequence(hex(OID.commonName), der(TAG.utf8, Buffer.from(commonName)))));
}

/** A time as RFC 5280 requires: UTCTime before 2050, GeneralizedTime from then on. */
function time(ms: number): Buffer {
  const digits = new Date(ms)
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replace(/[-:T]/g, '');
  const isEarly = Number(digits.slice(0, 4)) < 2050;
  return isEarly
    ? der(TAG.utcTime, Buffer.from(digits.slice(2), 'latin1'))
    : der(TAG.generalizedTime, Buffer.from(digits, 'latin1'));
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(TAG.sequence, Buffer.concat(parts));
}

function integer(bytes: ArrayLike<number>): Buffer {
  return der(TAG.integer, bytes);
}

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}

/** A value with its tag and length. */
function der(tag: number, content: ArrayLike<number>): Buffer {
  const body = Buffer.from(content as Uint8Array);
  const length: number[] = [];
  for (let rest = body.length; rest > 0; rest = Math.floor(rest / 256)) length.unshift(rest % 256);
  const head = body.length < 128 ? [body.length] : [0x80 | length.length, ...length];
  return Buffer.concat([Buffer.from([tag, ...head]), body]);
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
