import { domainToASCII } from 'node:url';
import MailComposer from 'nodemailer/lib/mail-composer';
import type { MailServer } from '#protocols/identity/email-setups.ts';
import type { Mailbox } from '#runtime/config/mail-checks.ts';

/** A message with its senders and receivers. */
export interface Mail {
  readonly envelope: { readonly from: string; readonly to: readonly string[]; readonly size: number };
  readonly message: Buffer;
}

/** What a mail with a login link says. */
export interface LoginLink {
  /** The receiver, as `parseEmail` reads it. */
  readonly to: string;
  /** The address that logs the person in. */
  readonly link: string;
  /** Host of the place that the person logs in to. */
  readonly site: string;
  readonly minutes: number;
  /** For `Date`, in milliseconds since the Unix epoch. */
  readonly nowMs: number;
  /** For `Message-ID`: unique, without special characters. */
  readonly id: string;
}

/**
 * Composes a mail with a login link, as plain text and as HTML. Texts that come from outside are the receiver and the
 * addresses, all of which were checked; the composer encodes them, so that none can end its header.
 */
export function loginLinkMail({ from, replyTo }: MailServer, login: LoginLink): Promise<Mail> {
  const { id, link, minutes, nowMs, site, to } = login;
  const lasts = minutes === 1 ? '1 minute' : `${minutes} minutes`;
  const asked = `Somebody asked for a link to log in to ${site} with this address.`;
  const open = `Open it within ${lasts} to log in. It works once.`;
  const other = 'If it was not you, ignore this mail: nobody can log in without the link.';
  const composer = new MailComposer({
    from: plain(from),
    to: { name: '', address: to },
    ...(replyTo === undefined ? {} : { replyTo: plain(replyTo) }),
    subject: `Log in to ${site}`,
    text: `${asked}\n${open}\n\n${link}\n\n${other}\n`,
    html: [
      '<!DOCTYPE html>',
      `<p>${escaped(asked)}<br>${escaped(open)}</p>`,
      `<p><a href="${escaped(link)}">${escaped(link)}</a></p>`,
      `<p>${escaped(other)}</p>`,
      '',
    ].join('\n'),
    date: new Date(nowMs),
    messageId: `<${id}@${from.address.slice(from.address.lastIndexOf('@') + 1)}>`,
    // Programs that answer mail do not answer it (RFC 3834).
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return new Promise((resolve, reject) => {
    composer.compile().build((error, message) => {
      if (error === null || error === undefined)
        resolve({ message, envelope: { from: from.address, to: [routable(to)], size: message.length } });
      else reject(error);
    });
  });
}

function plain({ address, name }: Mailbox): Mailbox {
  return { address, name };
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** An address whose domain is written as name servers know it: not every mail server takes other names. */
function routable(address: string): string {
  const at = address.lastIndexOf('@') + 1;
  const domain = domainToASCII(address.slice(at));
  return domain === '' ? address : address.slice(0, at) + domain;
}
