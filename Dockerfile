# Grove in a container: docker build -t grove .
FROM node:22-bookworm-slim
WORKDIR /opt/grove
COPY package.json package-lock.json LICENSE ./
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force
COPY runtime runtime
COPY actors actors
COPY protocols protocols
COPY cluster cluster
COPY operator operator
COPY server server
RUN install -d -o node -g node -m 0700 /var/lib/grove
ENV SVC_DATA_DIR=/var/lib/grove
# From outside of the container: publish the port where it is wanted.
ENV SVC_HOST=0.0.0.0
ENV UV_THREADPOOL_SIZE=32 UWS_HTTP_MAX_HEADERS_SIZE=16384
USER node
VOLUME /var/lib/grove
EXPOSE 8080
HEALTHCHECK --start-period=60s CMD ["node_modules/.bin/node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8080}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node_modules/.bin/node", "server/main.ts"]
