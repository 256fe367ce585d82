import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

/** What a provider answers: a status, and a document or text. */
export interface Scripted {
  readonly status?: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that a provider was sent. */
export interface SeenRequest {
  readonly path: string;
  readonly form: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  /** Fulfilled when it is over: answered, or given up by its sender. */
  readonly over: Promise<unknown>;
}

/** A key with which a provider signs. */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

interface Issued {
  readonly nonce: string;
  readonly challenge: string;
  readonly redirectUri: string;
}

type Claims = Record<string, unknown>;

/** Makes a key for RS256. */
export async function signingKey(kid: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  return { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'RS256' } };
}

/**
 * An OpenID provider that follows the rules, except where a test says otherwise. Codes are good once and only with the
 * verifier of their login.
 */
export class ScriptedProvider {
  readonly seen: SeenRequest[] = [];
  readonly key: SigningKey;
  /** Keys that it shows. */
  shownKeys: readonly JWK[];
  /** What it says of the person, in the token. */
  claims: Claims = {
    sub: 'sub-1',
    email: 'ann@example.org',
    email_verified: true,
    name: 'Ann',
    picture: null,
  };
  /** Changes the claims of the ID token; a claim that becomes undefined is left out. */
  changeClaims: (claims: Claims) => Claims = (claims) => claims;
  /** Makes the ID token of its claims; default: signed with {@link key}. */
  sign: (claims: Claims) => Promise<string> | string = (claims) => this.signedWith(this.key, claims);
  /** Answers of endpoints instead of the regular ones, by path. */
  readonly scripts = new Map<string, (request: SeenRequest) => Scripted | Promise<Scripted>>();
  /** Changes the discovery document. */
  metadata: Claims = {};
  /** What the userinfo endpoint answers. */
  userinfo: Claims = {};
  readonly #server: Server;
  readonly #codes = new Map<string, Issued>();
  #count = 0;

  private constructor(server: Server, key: SigningKey) {
    this.#server = server;
    this.key = key;
    this.shownKeys = [key.publicJwk];
    server.on('request', (request, response) => {
      // The other side may go away at any time.
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async start(key: SigningKey): Promise<ScriptedProvider> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ScriptedProvider(server, key);
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How often an endpoint was asked. */
  asked(path: string): number {
    return this.seen.filter((request) => request.path === path).length;
  }

  /** The person logs in. @param location where the browser was sent @returns what the browser brings back */
  logIn(location: URL): { readonly code: string; readonly state: string } {
    const { searchParams: asked } = location;
    this.#count += 1;
    const code = `code-${this.#count}`;
    this.#codes.set(code, {
      nonce: asked.get('nonce') ?? '',
      challenge: asked.get('code_challenge') ?? '',
      redirectUri: asked.get('redirect_uri') ?? '',
    });
    return { code, state: asked.get('state') ?? '' };
  }

  /** Signs claims as a token with a key. */
  signedWith({ kid, privateKey }: SigningKey, claims: Claims): Promise<string> {
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid, typ: 'JWT' }).sign(privateKey);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => void this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const over = new Promise((resolve) => void response.once('close', resolve));
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const path = (request.url ?? '').split('?')[0] as string;
    const form = Object.fromEntries(new URLSearchParams(Buffer.concat(parts).toString()));
    const seen = { path, form, headers: request.headers, over };
    this.seen.push(seen);
    const script = this.scripts.get(path);
    const { body, headers, status } = await (script === undefined ? this.#regular(seen) : script(seen));
    response.writeHead(status ?? 200, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  async #regular(request: SeenRequest): Promise<Scripted> {
    switch (request.path) {
      case '/.well-known/openid-configuration':
        return { body: this.#document() };
      case '/jwks':
        return { body: { keys: this.shownKeys } };
      case '/token':
        return await this.#token(request);
      case '/userinfo':
        return { body: this.userinfo };
      default:
        return { status: 404, body: {} };
    }
  }

  #document(): Claims {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      jwks_uri: `${this.issuer}/jwks`,
      userinfo_endpoint: `${this.issuer}/userinfo`,
      response_types_supported: ['code'],
      ...this.metadata,
    };
  }

  async #token({ form }: SeenRequest): Promise<Scripted> {
    const issued = this.#codes.get(form.code ?? '');
    this.#codes.delete(form.code ?? '');
    const challenge = createHash('sha256')
      .update(form.code_verifier ?? '')
      .digest('base64url');
    if (issued === undefined || issued.challenge !== challenge || issued.redirectUri !== form.redirect_uri)
      return { status: 400, body: { error: 'invalid_grant' } };
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: this.issuer,
      aud: 'grove',
      iat: now,
      exp: now + 600,
      nonce: issued.nonce,
      ...this.claims,
    };
    const token = await this.sign(this.changeClaims(claims));
    return { body: { access_token: 'access', token_type: 'Bearer', expires_in: 600, id_token: token } };
  }
}

/** A token without a signature (RFC 7519, section 6). */
export function unsecured(claims: Claims): string {
  return `${encoded({ alg: 'none' })}.${encoded(claims)}.`;
}

/** A token signed with HMAC, with a public key of the provider as the secret. */
export function signedWithPublicKey(publicPem: string, claims: Claims, kid: string): string {
  const signed = `${encoded({ alg: 'HS256', kid })}.${encoded(claims)}`;
  return `${signed}.${createHmac('sha256', publicPem).update(signed).digest('base64url')}`;
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
