#!/bin/sh
# Makes the two databases of a Temporal server, or brings them to the release of the
# tool: run it before the first start and before each start of a newer server.
#
#	POSTGRES_ADDRESS=127.0.0.1:5432 POSTGRES_PASSWORD=... schema.sh DIRECTORY
#
# DIRECTORY is schema/postgresql/v12 of the server's release.
set -eu
export SQL_PASSWORD="$POSTGRES_PASSWORD"
database() {
	tool="temporal-sql-tool --plugin postgres12 --ep ${POSTGRES_ADDRESS%:*} -p ${POSTGRES_ADDRESS##*:} -u temporal --db $1"
	$tool create
	$tool setup-schema -v 0.0
	$tool update-schema -d "$2/versioned"
}
database temporal "$1/temporal"
database temporal_visibility "$1/visibility"
